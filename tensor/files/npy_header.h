// The header of numpy's .npy files: magic, version, and a Python dictionary of three entries.
//
//   \x93NUMPY \x01 \x00  uint16 length (uint32 from version 2.0 on)
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  spaces  \n
//
// The dictionary is read by a strict parser of just that: nothing is evaluated. What it promises is
// checked in 64 bits against the bytes that are there before anybody allocates.
// Format: numpy.lib.format in numpy's documentation. `npy.h` reads and writes whole files.

#ifndef DTNN_TENSOR_FILES_NPY_HEADER_H_
#define DTNN_TENSOR_FILES_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace dtnn {

// What the reader of an array is prepared for.
enum class NpyElements : uint8_t { kNumbers, kText };

struct NpyHeader {
  // A text has at most so many; protects from a claim of gigabytes.
  static constexpr size_t kMostCharacters = size_t{1} << 23;

  DType dtype = DType::kFloat32;  // of a tensor of numbers; see npy.h for what becomes of others
  char kind = 'f';                // of the elements in the file: f, i, u, or b for bool
  size_t item_size = 4;           // bytes of one element in the file
  bool utf32 = false;             // of text: '<U5' (UTF-32) rather than '|S5' (bytes)
  bool big_endian = false;
  bool fortran_order = false;
  Shape shape;

  // Fits 63 bits: the parser checked it.
  int64_t data_bytes() const { return shape.NumElements() * int64_t(item_size); }
};

// Magic, version and length: the first 12 bytes of the file, of which version 1.0 uses 10.
struct NpyPreamble {
  static constexpr size_t kMinSize = 10, kMaxSize = 12;
  // Enough for any header of six extents; protects from a length of gigabytes.
  static constexpr size_t kMaxHeader = 65535;
  size_t size = 0;         // 10 or 12
  size_t header_size = 0;  // of the dictionary that follows
};

// `name` stands in front of every error. InvalidArgument for a broken header; Unimplemented for a
// version or a dtype that this library has no tensor for.
absl::StatusOr<NpyPreamble> ParseNpyPreamble(std::string_view bytes, std::string_view name);
absl::StatusOr<NpyHeader> ParseNpyDictionary(std::string_view text, std::string_view name,
                                             NpyElements elements = NpyElements::kNumbers);

// A source of bytes: fills the span it is given with those that come next.
using NpySource = absl::FunctionRef<absl::Status(std::span<std::byte>)>;
// Reads everything before the elements from a source of `size` bytes, and checks that exactly the
// bytes of the elements are left.
absl::StatusOr<NpyHeader> ReadNpyHeader(NpySource read, int64_t size, std::string_view name,
                                        NpyElements elements = NpyElements::kNumbers);

// Everything before the elements, for version 1.0 and row-major order; a multiple of 64 bytes.
std::string NpyHeaderBytes(DType dtype, const Shape& shape);
std::string NpyHeaderBytes(std::string_view descr, const Shape& shape);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_NPY_HEADER_H_
