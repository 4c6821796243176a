#include "models/run/parts/make_encryption.h"

#include <cstdlib>
#include <memory>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/secrets/crypto/job_secret.h"
#include "comm/secrets/sums/encrypted_all_reduce.h"
#include "models/run/options/in_force.h"

namespace dtnn {

absl::StatusOr<Secret> ReadEncryptionKey(const RunOptions& options, std::string_view purpose) {
  KeepFromDumps();
  DTNN_ASSIGN_OR_RETURN(
      const JobSecret key,
      WithContext(ReadSecretFile(options.encryption.key_file), "RunOptions::encryption.key_file"));
  return key.Derive(purpose);
}

bool EncryptsSums(const RunOptions& options) {
  return options.ranks.parallel == Parallel::kData && options.encryption.kind == "tenseal";
}

absl::StatusOr<Secret> ReadKeyOfRanks(const RunOptions& options) {
  return ReadEncryptionKey(options, "DTNN ranks: key of encrypted sums");
}

ckks::CkksParameters CkksParametersOf(const RunOptions& options) {
  return {.log2_degree = int(options.encryption.poly_degree),
          .log2_scale = int(GlobalScaleOf(options)),
          .security = std::atoi(options.encryption.security_level.c_str())};
}

absl::StatusOr<SumOverRanks> MakeEncryptedSum(const RunOptions& options, const Secret& key,
                                              Communicator& communicator) {
  absl::StatusOr<std::shared_ptr<EncryptedAllReduce>> sum =
      EncryptedAllReduce::Create(communicator, CkksParametersOf(options), key);
  if (absl::IsInvalidArgument(sum.status())) {
    return UsageError(
        "RunOptions::encryption.kind=tenseal with RunOptions::encryption.key_file, "
        "RunOptions::encryption.poly_degree, "
        "RunOptions::encryption.global_scale and RunOptions::encryption.security_level: ",
        sum.status().message());
  }
  DTNN_RETURN_IF_ERROR(sum.status());
  return [sum = *std::move(sum)](const Tensor& tensor) { return sum->Sum(tensor); };
}

}  // namespace dtnn
