// The chunks of a client's update, checked and read.

#ifndef DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_READ_UPDATE_H_
#define DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_READ_UPDATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "comm/federation/frame.h"
#include "comm/secrets/sums/authenticated.h"

namespace dtnn::federation {

// Numbers of an update, and of each chunk but the last.
struct UpdateShape {
  size_t values = 0, chunk_values = 1;

  size_t chunks() const { return (values + chunk_values - 1) / chunk_values; }
  size_t size(size_t chunk) const { return std::min(chunk_values, values - chunk * chunk_values); }
};

// Calls body for every chunk, on all threads (tensor/threads/parallel_for.h). The error of the
// first chunk that has one.
absl::Status ForEachChunk(const UpdateShape& shape, absl::FunctionRef<absl::Status(size_t)> body);

// Checks the form of the update that a client at this position has sent in this attempt, and its
// tags. With `values`, as many as the shape has, also reads the numbers of a plain one, and frees
// its chunks. DataLoss for one that is not whole.
absl::Status ReadUpdate(codec::UpdateServer& codec, uint64_t attempt, int position,
                        const UpdateShape& shape, std::span<Bytes> chunks, std::span<float> values);

}  // namespace dtnn::federation

#endif  // DTNN_COMM_FEDERATION_AGGREGATOR_ATTEMPT_READ_UPDATE_H_
