// The aggregator of a federation: clients come, train on data of their own, and go; in each round
// it sends the parameters to some of them and makes the next ones of their answers.
//
// One thread, which sleeps in poll. A round ends when all clients that were asked have answered, or
// at the deadline; with fewer updates than `min_clients` it is tried again with the clients that
// are there then. A client that answers late gets a verdict that says so, and is not asked again
// before it has answered. A client whose update cannot be used (NaN, another size, a norm beyond
// the limit, no update at all) is left out, named, and not asked again in that round; one that is
// lost again and again is asked in it only where there are too few others. After each round
// `round_done` writes what a resumed run needs. Nothing that a client sends can make the aggregator
// end or wait beyond the deadline.
//
// Clients prove that they know the job's secret; TLS is the stream's (comm/transport/tls). A client
// that comes again under its name takes the place of its older connection, which gets a message: a
// second process of that name ends the first one. Where clients share a key, those take part that
// have the one of the sum that the federation continues with, or, before there is one, the one that
// most have.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_AGGREGATOR_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_AGGREGATOR_H_

#include "absl/status/status.h"
#include "comm/federation/aggregator/aggregator_options.h"
#include "comm/federation/aggregator/federation_state.h"
#include "comm/secrets/crypto/job_secret.h"

namespace dtnn::federation {

// Runs the rounds that are left, then gives all clients that are there the final parameters.
// InvalidArgument for options that make no sense, Unavailable where not enough clients came in
// time, Cancelled where it was interrupted; the errors of round_done.
absl::Status RunAggregator(const AggregatorOptions& options, const JobSecret& secret,
                           FederationState& state);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_AGGREGATOR_H_
