// A file of named arrays and named texts, .npz or .safetensors by the ending of its name: one
// interface to both, for weights and checkpoints. The formats are those of npz.h and safetensors.h,
// whose errors come through.

#ifndef DTNN_TENSOR_FILES_ARRAY_FILE_H_
#define DTNN_TENSOR_FILES_ARRAY_FILE_H_

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/files/named_tensors.h"
#include "tensor/files/npz.h"
#include "tensor/files/safetensors.h"

namespace dtnn {

// InvalidArgument where the name ends otherwise; to be asked before the work is done.
absl::Status CheckArrayFileName(std::string_view path);

// Not to be used by two threads at once.
class ArrayFileReader {
 public:
  static absl::StatusOr<ArrayFileReader> Open(std::string_view path);
  // From memory that outlives the reader; the name's ending says what the bytes are.
  static absl::StatusOr<ArrayFileReader> Parse(std::span<const std::byte> bytes,
                                               std::string_view name);

  // As messages name it.
  const std::string& file() const { return file_; }
  // The names of the arrays, and in an .npz of the texts too.
  const std::vector<std::string>& names() const;
  bool Contains(std::string_view name) const;
  // Bytes of an array in the file, uncompressed; in an .npz with its header. 0 where there is none.
  int64_t Bytes(std::string_view name) const;
  absl::StatusOr<Tensor> Read(std::string_view name);
  // The same array's shape, without its elements.
  absl::StatusOr<Shape> ReadShape(std::string_view name);
  // Nothing where there is no text of that name.
  absl::StatusOr<std::optional<std::string>> Text(std::string_view name);

 private:
  using Reader = std::variant<NpzReader, SafetensorsReader>;
  ArrayFileReader(std::string_view file, Reader reader) : file_(file), reader_(std::move(reader)) {}

  std::string file_;
  Reader reader_;
};

// Writes dense host tensors and texts: all of the file or nothing.
absl::Status WriteArrayFile(std::string_view path, const NamedTensors& tensors,
                            const NamedTexts& texts);

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_ARRAY_FILE_H_
