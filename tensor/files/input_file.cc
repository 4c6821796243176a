#include "tensor/files/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "tensor/errors.h"

namespace dtnn {
namespace {

const char* KindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

absl::Status CheckRegular(const std::string& path, const struct stat& info) {
  if (S_ISREG(info.st_mode)) return absl::OkStatus();
  return FailedPrecondition(path, ": is ", KindOf(info.st_mode), ", not a regular file");
}

absl::Status CannotBeOpened(const std::string& path) {
  return absl::ErrnoToStatus(errno, StrCat(path, ": cannot be opened"));
}

}  // namespace

absl::StatusOr<InputFile> InputFile::Open(std::string_view name) {
  const std::string path(name);
  struct stat info = {};
  if (stat(path.c_str(), &info) != 0) return CannotBeOpened(path);
  DTNN_RETURN_IF_ERROR(CheckRegular(path, info));
  // Without O_NONBLOCK, a pipe that has taken the file's place meanwhile would wait for a writer.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return CannotBeOpened(path);
  InputFile file(path, descriptor);
  if (fstat(descriptor, &info) != 0) return CannotBeOpened(path);
  DTNN_RETURN_IF_ERROR(CheckRegular(path, info));
  file.size_ = int64_t(info.st_size);
  return file;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(other.Release()), size_(other.size_) {}

int InputFile::Release() { return std::exchange(descriptor_, -1); }

absl::StatusOr<size_t> InputFile::ReadUpTo(int64_t offset, std::span<std::byte> to) const {
  constexpr size_t kMost = size_t{1} << 30;  // Linux reads less than 2^31 bytes at once
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = pread(descriptor_, to.data() + done, std::min(to.size() - done, kMost),
                                off_t(offset) + off_t(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, StrCat(path_, ": cannot be read"));
    if (count == 0) break;
    done += size_t(count);
  }
  return done;
}

absl::Status InputFile::Read(int64_t offset, std::span<std::byte> to) const {
  DTNN_ASSIGN_OR_RETURN(const size_t count, ReadUpTo(offset, to));
  if (count == to.size()) return absl::OkStatus();
  return DataLoss(path_, ": ends at byte ", offset + int64_t(count), " where ", to.size() - count,
                  " more were expected; was it changed?");
}

}  // namespace dtnn
