// encryption.kind as ranks that train together use it, and the key file that clients of a
// federation have too.

#ifndef DTNN_MODELS_RUN_PARTS_MAKE_ENCRYPTION_H_
#define DTNN_MODELS_RUN_PARTS_MAKE_ENCRYPTION_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "comm/communicator.h"
#include "comm/secrets/ckks/parameters.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/sum_over_ranks.h"
#include "models/run/options/run_options.h"

namespace dtnn {

// What follows from encryption.key_file for one purpose. The error of a file that cannot be used
// names the option.
absl::StatusOr<Secret> ReadEncryptionKey(const RunOptions& options, std::string_view purpose);

// Whether ranks send gradients and models encrypted.
bool EncryptsSums(const RunOptions& options);
absl::StatusOr<Secret> ReadKeyOfRanks(const RunOptions& options);

// The parameters of encryption.kind=tenseal.
ckks::CkksParameters CkksParametersOf(const RunOptions& options);

// For EncryptsSums. All ranks call it together, and agree on the outcome afterwards; the
// communicator outlives the result. A usage error for parameters that are refused, and where ranks
// have different ones or different keys.
absl::StatusOr<SumOverRanks> MakeEncryptedSum(const RunOptions& options, const Secret& key,
                                              Communicator& communicator);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_PARTS_MAKE_ENCRYPTION_H_
