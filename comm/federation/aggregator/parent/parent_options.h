// The aggregator that another aggregator is a client of.
//
// It gives the parameters of each round, and says how updates are weighted, how long it waits, and
// how many rounds there are. The mean of one round of the other's clients goes up as one update,
// with the weight of all of them.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_PARENT_PARENT_OPTIONS_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_PARENT_PARENT_OPTIONS_H_

#include "comm/federation/client/client_options.h"
#include "comm/secrets/crypto/job_secret.h"

namespace dtnn::federation {

struct ParentOptions {
  // Where it is, and under which name this aggregator comes. Messages, samples and model are those
  // of the aggregator.
  ClientOptions client;
  JobSecret secret;  // of its federation
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_PARENT_PARENT_OPTIONS_H_
