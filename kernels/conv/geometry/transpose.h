// A matrix transposed, in blocks that stay in the L1 cache: images from one format to the other,
// filters into panels. By the calling thread alone.

#ifndef DTNN_KERNELS_CONV_GEOMETRY_TRANSPOSE_H_
#define DTNN_KERNELS_CONV_GEOMETRY_TRANSPOSE_H_

#include <cstdint>

namespace dtnn::conv {

// to[j * to_pitch + i] = from[i * from_pitch + j] for i < rows, j < columns.
void Transpose(const float* from, int64_t rows, int64_t columns, int64_t from_pitch, float* to,
               int64_t to_pitch);
void Transpose(const double* from, int64_t rows, int64_t columns, int64_t from_pitch, double* to,
               int64_t to_pitch);

}  // namespace dtnn::conv

#endif  // DTNN_KERNELS_CONV_GEOMETRY_TRANSPOSE_H_
