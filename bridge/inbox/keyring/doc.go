// Package keyring is the passkeys of a bridge at work: it issues what they sign, has their
// signatures verified before the desk hears of them, enrols them, and sees to it that each of
// that is on record. It decides nothing.
package keyring
