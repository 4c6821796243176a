// The samples of a batch as values on the host, whatever it holds: for those who show them.

#ifndef DTNN_DATA_LOADING_BATCH_VALUES_H_
#define DTNN_DATA_LOADING_BATCH_VALUES_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "data/loading/loader.h"
#include "tensor/tensor.h"

namespace dtnn {

// The values of samples [first, first + count): `x` of a batch of values; for a batch of bytes, the
// values that a device computes from it, which takes memory and time.
absl::StatusOr<Tensor> ValuesOf(const Batch& batch, int64_t first, int64_t count);

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_BATCH_VALUES_H_
