// numpy's .npy files, one array each: read into a dense row-major tensor on the host, and written.
//
// Read: versions 1.0, 2.0 and 3.0; row-major and Fortran order; float32, float64, uint8, int32 and
// int64, of either byte order; up to six dimensions. What tensors do not have becomes the next type
// that holds it: float16 float32; bool (0 or 1), int8, int16 and uint16 int32; uint32 and uint64
// int64. A uint64 from 2^63 on is InvalidArgument.
// Arrays of Python objects are refused: unpickling them could run any program.
// Written: version 1.0, little-endian, row-major; numpy.load reads it.
// Errors begin with the name of the file or member. InvalidArgument for broken contents,
// Unimplemented for valid ones that this library has no tensor for.

#ifndef DTNN_TENSOR_FILES_NPY_H_
#define DTNN_TENSOR_FILES_NPY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/files/npy_header.h"
#include "tensor/tensor.h"

namespace dtnn {

// A larger file is refused before it is read.
inline constexpr int64_t kMaxNpyBytes = int64_t{1} << 36;

absl::StatusOr<Tensor> ReadNpy(std::string_view path, int64_t max_bytes = kMaxNpyBytes);
absl::StatusOr<Tensor> ParseNpy(std::span<const std::byte> bytes, std::string_view name);

// The same from any source of exactly `size` bytes. The elements go straight into the tensor where
// their form allows it.
absl::StatusOr<Tensor> ParseNpyFrom(NpySource read, int64_t size, std::string_view name);

// The tensor must be dense and on the host.
absl::StatusOr<std::vector<std::byte>> SerializeNpy(const Tensor& tensor);
// A file of int16, which tensors do not have; values.size() is the number of elements of `shape`.
std::string SerializeNpyInt16(std::span<const int16_t> values, const Shape& shape);
// All of the file or nothing (atomic_file.h).
absl::Status WriteNpy(std::string_view path, const Tensor& tensor);

// The elements of a dense host tensor as bytes, or InvalidArgument saying that it is not one.
absl::StatusOr<std::span<const std::byte>> NpyData(const Tensor& tensor);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_NPY_H_
