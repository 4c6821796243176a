// numpy's .npz files: zip archives whose members "<name>.npy" hold one array each. Weights,
// checkpoints and some data sets come in them.
//
// Read: stored and deflated members, zip64, everything that npy.h and npy_text.h read. An archive
// is refused as a whole when it is damaged or truncated, encrypted, or compressed in another way;
// when a member is no .npy file, has a folder in its name or exists twice; and when its sizes lie:
// more than deflate can hold, or more than the caller's limit. Every array's header is compared
// with the size of its member before memory is taken, and every checksum is verified. Written: all
// of the file or nothing (atomic_file.h); the same arrays give the same bytes. Errors begin with
// the file's name. InvalidArgument for broken contents, DataLoss for a wrong checksum,
// Unimplemented as in npy.h, NotFound for a missing file or array.

#ifndef DTNN_TENSOR_FILES_NPZ_H_
#define DTNN_TENSOR_FILES_NPZ_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tensor/files/named_tensors.h"
#include "tensor/files/npy_header.h"
#include "tensor/tensor.h"

struct zip;

namespace dtnn {

// Uncompressed bytes of all arrays together that a reader accepts by default: 64 GiB.
inline constexpr int64_t kMaxNpzBytes = int64_t{1} << 36;

// Not to be used by two threads at once.
class NpzReader {
 public:
  static absl::StatusOr<NpzReader> Open(std::string_view path, int64_t max_bytes = kMaxNpzBytes);
  // From memory that outlives the reader.
  static absl::StatusOr<NpzReader> Parse(std::span<const std::byte> bytes, std::string_view name,
                                         int64_t max_bytes = kMaxNpzBytes);

  // Without ".npy", in the order of the archive.
  const std::vector<std::string>& names() const { return names_; }
  bool Contains(std::string_view name) const { return index_.contains(name); }
  // The uncompressed bytes of a member, header included; 0 where there is none. To be asked before
  // reading what should be of a known size.
  int64_t Bytes(std::string_view name) const;
  absl::StatusOr<Tensor> Read(std::string_view name);
  // The shape of an array, from its header alone.
  absl::StatusOr<Shape> ReadShape(std::string_view name);
  // A member that is a text (npy_text.h), as UTF-8.
  absl::StatusOr<std::string> ReadText(std::string_view name);

 private:
  struct Close {
    void operator()(zip* archive) const;
  };
  using Archive = std::unique_ptr<zip, Close>;
  struct Member {
    uint64_t index = 0;
    int64_t bytes = 0;
  };

  NpzReader(std::string_view file, Archive archive) : file_(file), archive_(std::move(archive)) {}
  // Calls `parse` with the bytes of a member, their number and the member's name for messages.
  using ParseMember = absl::FunctionRef<absl::Status(NpySource, int64_t, std::string_view)>;
  enum class Extent : uint8_t { kWhole, kBegin };  // what `parse` reads
  absl::Status ReadMember(std::string_view name, Extent extent, ParseMember parse);
  static absl::StatusOr<NpzReader> Check(NpzReader reader, int64_t file_size, int64_t max_bytes);

  std::string file_;
  Archive archive_;
  std::vector<std::string> names_;
  std::map<std::string, Member, std::less<>> index_;
};

// All arrays, in the order of the archive.
absl::StatusOr<NamedTensors> ReadNpz(std::string_view path, int64_t max_bytes = kMaxNpzBytes);

// Deflate makes float32 weights about 8 % smaller, at a hundredth of the speed.
enum class NpzCompression : uint8_t { kStored, kDeflated };

// Writes dense host tensors, and after them texts in UTF-8 and the bytes of whole .npy files (for
// types that no tensor has, as of SerializeNpyInt16), under their names, which must be distinct,
// not empty and without '/'.
absl::Status WriteNpz(std::string_view path, const NamedTensors& tensors,
                      NpzCompression compression = NpzCompression::kStored,
                      const NamedTexts& texts = {}, const NamedTexts& npy_files = {});

}  // namespace dtnn

#endif  // DTNN_TENSOR_FILES_NPZ_H_
