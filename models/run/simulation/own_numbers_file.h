// What stays with simulated clients (../federated/local_parameters.h: control variates, or
// parameters that are not exchanged), kept from run to run: in a folder, after each round, a file
// with the numbers of all clients whose updates were used so far, clients-ROUND.npz. The last three
// are kept: two checkpoints are there before that of the round is written, and may be resumed from.
// Memory: a copy of what is written.

#ifndef DTNN_MODELS_RUN_SIMULATION_OWN_NUMBERS_FILE_H_
#define DTNN_MODELS_RUN_SIMULATION_OWN_NUMBERS_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "models/run/federated/local_parameters.h"

namespace dtnn {

// Before the state after that round is saved: then one that resumes finds the file of its round.
absl::Status SaveOwnNumbers(const std::string& folder, int64_t round, const LocalParameters& own);
// NotFound where there is no such file; DataLoss for one of other clients or of another size, which
// changes nothing.
absl::Status LoadOwnNumbers(const std::string& folder, int64_t round, LocalParameters& own);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_SIMULATION_OWN_NUMBERS_FILE_H_
