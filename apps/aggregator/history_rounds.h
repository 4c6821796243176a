// The rounds of a federation from its --history-file, for those who watch it after --resume.

#ifndef DTNN_APPS_AGGREGATOR_HISTORY_ROUNDS_H_
#define DTNN_APPS_AGGREGATOR_HISTORY_ROUNDS_H_

#include <string_view>
#include <vector>

#include "apps/aggregator/federation_facts.h"

namespace dtnn {

// The rounds of this CSV, in its order; of one that has not answered the file says nothing, so as
// many are asked as are accepted. Lines that have no number of a round are skipped, and so are
// fields that are not numbers: the file is the user's.
std::vector<FederationFacts::Round> RoundsOfHistory(std::string_view csv);

}  // namespace dtnn

#endif  // DTNN_APPS_AGGREGATOR_HISTORY_ROUNDS_H_
