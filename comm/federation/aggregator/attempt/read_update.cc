#include "comm/federation/aggregator/attempt/read_update.h"

#include <vector>

#include "comm/federation/aggregator/attempt_numbers.h"
#include "tensor/errors.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::federation {

absl::Status ForEachChunk(const UpdateShape& shape, absl::FunctionRef<absl::Status(size_t)> body) {
  std::vector<absl::Status> statuses(shape.chunks());
  ParallelFor(0, int64_t(statuses.size()), 1, [&](int64_t begin, int64_t end) {
    for (auto chunk = size_t(begin); chunk < size_t(end); ++chunk) statuses[chunk] = body(chunk);
  });
  for (const absl::Status& status : statuses) DTNN_RETURN_IF_ERROR(status);
  return absl::OkStatus();
}

absl::Status ReadUpdate(codec::UpdateServer& codec, uint64_t attempt, int position,
                        const UpdateShape& shape, std::span<Bytes> chunks,
                        std::span<float> values) {
  if (chunks.size() != shape.chunks()) {
    return DataLoss("sent ", chunks.size(), " chunks of an update, expected ", shape.chunks());
  }
  return ForEachChunk(shape, [&](size_t chunk) -> absl::Status {
    DTNN_ASSIGN_OR_RETURN(codec::UpdateSum sum,
                          codec.NewSum({attempt, uint32_t(chunk)}, shape.size(chunk)));
    DTNN_RETURN_IF_ERROR(sum.Add(position, chunks[chunk]));
    if (values.empty()) return absl::OkStatus();
    Free(chunks[chunk]);
    return sum.Read(values.subspan(chunk * shape.chunk_values, shape.size(chunk)));
  });
}

}  // namespace dtnn::federation
