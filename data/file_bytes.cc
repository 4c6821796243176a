#include "data/file_bytes.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace dtnn {

FileBytes::FileBytes(std::vector<uint8_t> bytes) {
  const auto owner = std::make_shared<const std::vector<uint8_t>>(std::move(bytes));
  view_ = *owner;
  owner_ = owner;
}

absl::StatusOr<FileBytes> FileBytes::Map(const std::string& path) {
  // Without O_NONBLOCK, opening a pipe that nobody writes to would wait for ever.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return absl::ErrnoToStatus(errno, absl::StrCat(path, ": cannot be opened"));
  struct stat status = {};
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    close(descriptor);
    return absl::InvalidArgumentError(absl::StrCat(path, ": is not a file"));
  }
  FileBytes bytes;
  bytes.mapped_ = true;
  const size_t size = size_t(status.st_size);
  // Private, because some file systems have no other; pages that nobody writes are shared anyway.
  void* const begin =
      size == 0 ? nullptr : mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const int error = errno;
  close(descriptor);
  if (begin == MAP_FAILED) {
    return absl::ErrnoToStatus(error, absl::StrCat(path, ": cannot be mapped into memory"));
  }
  if (size == 0) return bytes;
  madvise(begin, size, MADV_WILLNEED);  // no more than a hint
  bytes.owner_ = std::shared_ptr<void>(begin, [size](void* pages) { munmap(pages, size); });
  bytes.view_ = {static_cast<const uint8_t*>(begin), size};
  return bytes;
}

FileBytes FileBytes::From(size_t offset) const {
  FileBytes rest = *this;
  rest.view_ = view_.subspan(offset);
  return rest;
}

}  // namespace dtnn
