// The sum of the updates of one attempt, as their protection adds them, and its mean: what takes
// long in an attempt. All of it on all threads (tensor/threads/parallel_for.h), one call at a time.
//
// An update is added when all of it is there, and then forgotten; robust means keep all. Sums are
// of integers: of plain numbers rounded (../sums/plain_sum.h), of masked words modulo 2^32, of
// ciphertexts modulo the primes of their ring. So the bits do not depend on the order of calls.
//
// What was added cannot be taken out: of words under a mask it would be the same words again, which
// are gone. docs/security.md says why nobody has to be taken out of a sum that continues.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_ATTEMPT_SUM_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_ATTEMPT_SUM_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "comm/federation/aggregator/attempt/read_update.h"
#include "comm/federation/aggregator/sums/plain_sum.h"
#include "comm/federation/aggregator/sums/robust_mean.h"
#include "comm/federation/compression.h"
#include "comm/federation/frame.h"
#include "comm/federation/protection.h"
#include "comm/secrets/sums/authenticated.h"

namespace dtnn::federation {

struct SumOptions {
  uint64_t attempt = 0;
  double max_update_norm = 0;  // CheckUpdate (../sums/plain_sum.h)
  RobustOptions robust = {};
  std::span<const float> parameters = {};  // that clients begin with, where they are known
  Compression compression = {};            // of plain updates, of so many trainable numbers
  size_t trainable = 0;
};

class AttemptSum {
 public:
  // Makes a sum of so many numbers. The protector, the parameters, and what the codec refers to,
  // outlive it.
  AttemptSum(const SumOptions& options, const Protector& protector, size_t values,
             std::unique_ptr<codec::UpdateServer> codec);

  // The update of the client at this position, times its factor; nothing of one that is refused:
  // OutOfRange or DataLoss say why.
  absl::Status Add(int position, double factor, std::vector<Bytes> chunks);

  // Once all are added, and where clients have to help, have answered: the sum of the updates,
  // divided by the sum of these factors of the clients whose updates it has. A robust mean: of
  // those clients alone, of all that were added. DataLoss where it cannot be read, or is not that
  // of a network. Cancelled, soon, where it is to stop.
  absl::StatusOr<std::vector<float>> Mean(const std::map<int, double>& factors,
                                          const std::stop_token& stop = {});
  // By chunk: messages for clients, who alone can read it.
  absl::StatusOr<std::vector<Bytes>> Encrypted(const std::stop_token& stop = {});
  // What clients are asked about a chunk, and an answer.
  absl::StatusOr<Bytes> Question(size_t chunk);
  absl::Status AddAnswer(size_t chunk, int position, std::span<const uint8_t> answer);

 private:
  absl::Status AddPlain(int position, double factor, std::vector<Bytes>& chunks);
  absl::Status AddProtected(int position, std::vector<Bytes>& chunks);
  absl::StatusOr<std::vector<float>> ReadSums(const std::stop_token& stop);

  const SumOptions options_;
  const Protector& protector_;
  const UpdateShape shape_;
  const std::unique_ptr<codec::UpdateServer> codec_;
  std::optional<PlainSum> plain_;
  std::map<int, std::vector<float>> kept_;  // for robust means, by position
  std::vector<codec::UpdateSum> sums_;      // of protected chunks
  absl::Status broken_;                     // where an update is in the sums of some chunks alone
};

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_ATTEMPT_SUM_H_
