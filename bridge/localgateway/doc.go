// Package localgateway is this machine's own gateway: where it is, who hosts it,
// how one becomes its host, and how one joins it.
//
// The programs of one user on one machine meet in a gateway that none of them was
// told of. They find each other through a state directory that is that user's alone
// ([StateDir]): it has the secret that signs the gateway's tokens, the address at
// which the gateway listens, and a lock. Exactly one process hosts the gateway, the
// one that holds the lock ([LocalGateway.FindOrHost]). When it ends the others lose
// their seats and ask again; one of them gets the lock and hosts, the rest find it.
// The secret stays, so every token stays good.
//
// Nobody shows a token to what merely listens at that address: [LocalGateway.Dial] has
// the other end prove first that it holds the secret.
//
// A [Connector] is the way into a topic, to a gateway that was named or to this one,
// which it looks for anew at each joining. It also makes a participant id ours alone
// on this machine ([Connector.ClaimID]), and has those of one id join one after the other
// ([Connector.Turn], [Connector.CheckApprover]).
//
// The package reads no environment and no flags: the state directory's place comes
// from a getenv that the caller passes to [Home], and everything else stands in options.
// Its errors are [fault.Error] where an exit code and a hint are known. Nothing that
// it starts outlives [Hosting.Stop], [LocalGateway.Close] or [Connector.Close].
package localgateway
