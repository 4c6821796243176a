// --encryption as ranks that train together use it, and the key file that clients of a federation
// have too.

#ifndef DTNN_APPS_MAKE_MAKE_ENCRYPTION_H_
#define DTNN_APPS_MAKE_MAKE_ENCRYPTION_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"
#include "comm/communicator.h"
#include "comm/secrets/ckks/parameters.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/sum_over_ranks.h"

namespace dtnn {

// What follows from --encryption-key-file for one purpose. The error of a file that cannot be used
// names the option.
absl::StatusOr<Secret> ReadEncryptionKey(const Options& options, std::string_view purpose);

// Whether ranks send gradients and models encrypted.
bool EncryptsSums(const Options& options);
absl::StatusOr<Secret> ReadKeyOfRanks(const Options& options);

// Of --encryption=tenseal.
ckks::CkksParameters CkksParametersOf(const Options& options);

// For EncryptsSums. All ranks call it together, and agree on the outcome afterwards; the
// communicator outlives the result. A usage error for parameters that are refused, and where ranks
// have different ones or different keys.
absl::StatusOr<SumOverRanks> MakeEncryptedSum(const Options& options, const Secret& key,
                                              Communicator& communicator);

}  // namespace dtnn

#endif  // DTNN_APPS_MAKE_MAKE_ENCRYPTION_H_
