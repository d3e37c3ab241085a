package main

import "testing"

var serverOutput = map[string]func(*testing.T, badInput){}
var badServers = map[string]func(*testing.T, badInput){}
var commandLines = map[string]func(*testing.T, badInput){}
