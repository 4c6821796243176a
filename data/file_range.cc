#include "data/file_range.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace dtnn {

absl::StatusOr<std::unique_ptr<FileRange>> FileRange::Open(const std::string& path, uint64_t offset,
                                                           uint64_t size) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be opened"));
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  }
  const uint64_t length = uint64_t(status.st_size);
  offset = std::min(offset, length);
  return std::unique_ptr<FileRange>(
      new FileRange(descriptor, offset, std::min(size, length - offset)));
}

FileRange::~FileRange() { close(descriptor_); }

absl::StatusOr<size_t> FileRange::Read(std::span<uint8_t> to) {
  to = to.first(std::min<uint64_t>(to.size(), left_));
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t count = pread(descriptor_, to.data() + done, to.size() - done, off_t(at_ + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return absl::ErrnoToStatus(errno, "reading failed");
    if (count == 0) break;
    done += size_t(count);
  }
  Skip(done);
  return done;
}

uint64_t FileRange::Skip(uint64_t count) {
  count = std::min(count, left_);
  at_ += count;
  left_ -= count;
  return count;
}

}  // namespace dtnn
