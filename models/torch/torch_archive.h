// The zip archive that torch.save writes: members that are stored, not compressed.

#ifndef DTNN_MODELS_TORCH_TORCH_ARCHIVE_H_
#define DTNN_MODELS_TORCH_TORCH_ARCHIVE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tensor/files/input_file.h"

struct zip;

namespace dtnn {

class TorchArchive {
 public:
  static constexpr std::string_view kPickle = "data.pkl";

  static absl::StatusOr<TorchArchive> Open(const InputFile& file);
  // From memory that outlives the archive.
  static absl::StatusOr<TorchArchive> Parse(std::span<const std::byte> bytes);

  int64_t size() const { return size_; }  // of the file
  // The folder of the archive that has the pickle: "resnet18/".
  absl::StatusOr<std::string> Folder() const;
  bool Contains(const std::string& name) const;
  // The member's bytes, at most `most` and no more than the file has. InvalidArgument for one that
  // is compressed, encrypted or larger; DataLoss for a wrong checksum.
  absl::StatusOr<std::string> Read(const std::string& name, uint64_t most) const;

 private:
  struct Close {
    void operator()(zip* archive) const;
  };
  TorchArchive(zip* archive, int64_t size) : archive_(archive), size_(size) {}

  std::unique_ptr<zip, Close> archive_;
  int64_t size_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_TORCH_TORCH_ARCHIVE_H_
