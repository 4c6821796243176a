// .safetensors files: named arrays and named texts, without code in them and without compression.
// Frameworks exchange weights in them.
//
// A file is a length (uint64, little-endian), a JSON header of that length (safetensors_header.h)
// and the elements, row-major and little-endian.
// Read: float64, float32, uint8, int32, int64; as in npy.h, bool, int8, int16 and uint16 become
// int32, uint32 and uint64 int64, and float16 and bfloat16 float32, without loss. Other element
// types are refused (Unimplemented) when they are read. Written: all of the file or nothing
// (atomic_file.h); wide elements first, so that all are aligned. Everything that the header
// promises is checked against the file's size before memory is taken. Errors begin with the file's
// name: InvalidArgument for broken contents, NotFound for a missing file or tensor.

#ifndef DTNN_TENSOR_FILES_SAFETENSORS_H_
#define DTNN_TENSOR_FILES_SAFETENSORS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/files/named_tensors.h"
#include "tensor/files/safetensors_header.h"
#include "tensor/tensor.h"

namespace dtnn {

class SafetensorsReader {
 public:
  static absl::StatusOr<SafetensorsReader> Open(std::string_view path);
  // From memory that outlives the reader.
  static absl::StatusOr<SafetensorsReader> Parse(std::span<const std::byte> bytes,
                                                 std::string_view name);

  // In the order of their elements in the file.
  const std::vector<std::string>& names() const { return names_; }
  bool Contains(std::string_view name) const { return index_.contains(name); }
  // The bytes of a tensor's elements in the file; 0 where there is none.
  int64_t Bytes(std::string_view name) const;
  absl::StatusOr<Tensor> Read(std::string_view name) const;
  // The shape of a tensor, from the header alone.
  absl::StatusOr<Shape> ReadShape(std::string_view name) const;
  const NamedTexts& metadata() const { return header_.metadata; }

 private:
  // Fills `to` with the bytes of the file from `offset` on, all of which are inside it.
  using Source = std::function<absl::Status(int64_t offset, std::span<std::byte> to)>;

  SafetensorsReader(std::string_view file, Source source)
      : file_(file), source_(std::move(source)) {}
  absl::StatusOr<const SafetensorsEntry*> Find(std::string_view name) const;
  static absl::StatusOr<SafetensorsReader> Check(SafetensorsReader reader, int64_t size);

  std::string file_;
  Source source_;
  SafetensorsHeader header_;
  int64_t data_begin_ = 0;
  std::vector<std::string> names_;
  std::map<std::string, size_t, std::less<>> index_;
};

// Writes dense host tensors and texts; names must be distinct and UTF-8.
absl::Status WriteSafetensors(std::string_view path, const NamedTensors& tensors,
                              const NamedTexts& metadata = {});

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_SAFETENSORS_H_
