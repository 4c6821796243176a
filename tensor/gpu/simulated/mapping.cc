#include "tensor/gpu/simulated/mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn::gpu {
namespace {

constexpr size_t kAlignment = 256, kViews = 3;

size_t PageBytes() {
  static const size_t bytes = size_t(sysconf(_SC_PAGESIZE));
  return bytes;
}

absl::Status OutOfMemory(const char* call) {
  return ResourceExhausted(call, ": ", std::strerror(errno));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Mapping>> Mapping::Create(size_t bytes) {
  const size_t page = PageBytes();
  if (bytes > SIZE_MAX / 8) return ResourceExhausted("more than the address space");
  const size_t used = RoundUp(bytes, kAlignment), pages = RoundUp(used, page);
  std::unique_ptr<Mapping> mapping(new Mapping());
  mapping->stride_ = pages + page;
  mapping->bytes_ = bytes;
  const size_t region_bytes = kViews * mapping->stride_ + page;
  void* const region =
      mmap(nullptr, region_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (region == MAP_FAILED) return OutOfMemory("mmap");
  mapping->region_ = static_cast<std::byte*>(region);
  mapping->region_bytes_ = region_bytes;
  mapping->host_ = mapping->region_ + page + pages - used;

  const int file = memfd_create("simulated GPU", MFD_CLOEXEC);
  if (file < 0) return OutOfMemory("memfd_create");
  bool mapped = ftruncate(file, off_t(pages)) == 0;
  constexpr int kAccess[kViews] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_READ | PROT_WRITE};
  for (size_t view = 0; view < kViews && mapped; ++view) {
    mapped = mmap(mapping->region_ + page + view * mapping->stride_, pages, kAccess[view],
                  MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  }
  const absl::Status status = mapped ? absl::OkStatus() : OutOfMemory("mmap");
  close(file);
  DTNN_RETURN_IF_ERROR(status);
  return mapping;
}

Mapping::~Mapping() {
  if (region_ != nullptr) munmap(region_, region_bytes_);
}

void Mapping::SetHostAccess(size_t begin, size_t end, HostAccess access) {
  const size_t page = PageBytes(), before = size_t(host_ - region_) % page;
  const size_t first = begin == 0 ? 0 : RoundUp(before + begin, page);
  const size_t last = end == bytes_ ? RoundUp(before + end, page) : (before + end) / page * page;
  if (first >= last) return;
  const int protection = access == HostAccess::kNone   ? PROT_NONE
                         : access == HostAccess::kRead ? PROT_READ
                                                       : PROT_READ | PROT_WRITE;
  mprotect(host_ - before + first, last - first, protection);
}

std::ptrdiff_t Mapping::OffsetOf(const void* address) const {
  const std::ptrdiff_t view_begin = std::ptrdiff_t(PageBytes());
  const std::ptrdiff_t in_views = static_cast<const std::byte*>(address) - region_ - view_begin;
  const std::ptrdiff_t from_page = in_views < 0 ? in_views : in_views % std::ptrdiff_t(stride_);
  return from_page - (host_ - region_ - view_begin);
}

}  // namespace dtnn::gpu
