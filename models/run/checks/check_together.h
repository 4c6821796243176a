// Options of a run that contradict each other, or that need others.

#ifndef DTNN_MODELS_RUN_CHECKS_CHECK_TOGETHER_H_
#define DTNN_MODELS_RUN_CHECKS_CHECK_TOGETHER_H_

#include "absl/status/status.h"
#include "models/run/options/run_options.h"

namespace dtnn {

absl::Status CheckTogether(const RunOptions& options);

// check_encryption.cc: of ranks that sum ciphertexts on CPUs, and of clients of a federation.
absl::Status CheckEncryptedSums(const RunOptions& options);
absl::Status CheckFederation(const RunOptions& options);

// check_privacy.cc: of training with differential privacy for each sample.
absl::Status CheckPrivacy(const RunOptions& options);

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_CHECKS_CHECK_TOGETHER_H_
