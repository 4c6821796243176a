// Bytes to values: y = x * scale, the way from a data set's pixels into a batch. Host only: batches
// are assembled there.

#ifndef DTNN_KERNELS_CONVERT_CONVERT_H_
#define DTNN_KERNELS_CONVERT_CONVERT_H_

#include <cstdint>
#include <span>

namespace dtnn {

// to.size() == from.size(). Runs on the calling thread.
void ConvertBytes(std::span<const uint8_t> from, float scale, std::span<float> to);
void ConvertBytes(std::span<const uint8_t> from, double scale, std::span<double> to);

}  // namespace dtnn

#endif  // DTNN_KERNELS_CONVERT_CONVERT_H_
