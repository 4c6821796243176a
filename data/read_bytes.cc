#include "data/read_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/strings/str_cat.h"
#include "tensor/status_macros.h"

namespace dtnn {
namespace {

class File {
 public:
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  explicit File(const std::string& path)
      : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  absl::Status Check() {
    if (descriptor_ < 0) {
      return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": cannot be opened"));
    }
    struct stat status = {};
    if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
      return absl::InvalidArgumentError(absl::StrCat(path_, ": is not a file"));
    }
    size_ = uint64_t(status.st_size);
    return absl::OkStatus();
  }

  absl::Status Read(uint64_t offset, std::span<uint8_t> bytes) const {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count =
          pread(descriptor_, bytes.data() + done, bytes.size() - done, off_t(offset + done));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path_, ": reading failed"));
      if (count == 0) {
        return absl::DataLossError(absl::StrCat(path_, ": ends at byte ", offset + done, " where ",
                                                bytes.size() - done,
                                                " more were expected; was it changed?"));
      }
      done += size_t(count);
    }
    return absl::OkStatus();
  }
  uint64_t size() const { return size_; }

 private:
  const std::string& path_;
  const int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace

absl::Status ReadBytes(const std::string& path, std::vector<uint8_t>& bytes, uint64_t max_bytes) {
  File file(path);
  DTNN_RETURN_IF_ERROR(file.Check());
  if (file.size() > max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path, ": has ", file.size(), " bytes, more than the ", max_bytes, " that are read"));
  }
  bytes.resize(file.size());
  return file.Read(0, bytes);
}

absl::Status ReadBytesAt(const std::string& path, uint64_t offset, std::span<uint8_t> bytes) {
  File file(path);
  DTNN_RETURN_IF_ERROR(file.Check());
  return file.Read(offset, bytes);
}

}  // namespace dtnn
