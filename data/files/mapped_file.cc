#include "data/files/mapped_file.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <mutex>
#include <utility>

#include "tensor/errors.h"
#include "tensor/files/input_file.h"
#include "tensor/rounding.h"

namespace dtnn {

// The regions form a list that only grows, so that the handler walks along it at any moment without
// a lock: 40 bytes for every file that was ever mapped.
struct MappedRegion {
  const uintptr_t begin, end;  // of whole pages
  std::atomic<bool> mapped = true;
  std::atomic<bool> cut = false;
  MappedRegion* next = nullptr;
};

namespace {

static_assert(std::atomic<bool>::is_always_lock_free &&
              std::atomic<MappedRegion*>::is_always_lock_free);

std::atomic<MappedRegion*> regions = nullptr;
// Set before the handler is.
struct sigaction previous = {};
uintptr_t page_bytes = 0;

MappedRegion* Register(void* begin, size_t size) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(begin);
  auto* region = new MappedRegion{address, address + RoundUp(size, page_bytes)};
  region->next = regions.load();
  while (!regions.compare_exchange_weak(region->next, region)) {
  }
  return region;
}

// From the page of `address` to the end of its mapping; false where that is none of ours.
bool FillWithZeros(uintptr_t address) {
  for (MappedRegion* region = regions.load(); region != nullptr; region = region->next) {
    if (!region->mapped || address < region->begin || address >= region->end) continue;
    const uintptr_t page = address / page_bytes * page_bytes;
    region->cut = true;  // before another thread can read a zero
    return mmap(reinterpret_cast<void*>(page), region->end - page, PROT_READ,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED;
  }
  return false;
}

void OnBusError(int signal, siginfo_t* info, void* /*context*/) {
  const bool by_access = info->si_code > 0;
  const int error = errno;
  const bool mended = by_access && FillWithZeros(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = error;
  if (mended) return;
  // The access is tried again, or the signal sent again, with its former effect.
  sigaction(signal, &previous, nullptr);
  if (!by_access) raise(signal);
}

void HandleBusErrors() {
  static std::once_flag once;
  std::call_once(once, [] {
    page_bytes = uintptr_t(sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = OnBusError;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGBUS, &action, &previous);
  });
}

}  // namespace

absl::StatusOr<std::shared_ptr<const MappedFile>> MappedFile::Open(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const InputFile file, InputFile::Open(path));
  const size_t size = size_t(file.size());
  if (size == 0) return std::shared_ptr<const MappedFile>(new MappedFile(path, {}, nullptr));
  HandleBusErrors();
  // Private, because some file systems have no other; pages that nobody writes are shared anyway.
  void* const begin = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (begin == MAP_FAILED) {
    return absl::ErrnoToStatus(errno, StrCat(path, ": cannot be mapped into memory"));
  }
  madvise(begin, size, MADV_WILLNEED);  // no more than a hint
  return std::shared_ptr<const MappedFile>(
      new MappedFile(path, {static_cast<const uint8_t*>(begin), size}, Register(begin, size)));
}

MappedFile::MappedFile(std::string path, std::span<const uint8_t> bytes, MappedRegion* region)
    : path_(std::move(path)), bytes_(bytes), region_(region) {}

MappedFile::~MappedFile() {
  if (region_ == nullptr) return;
  region_->mapped = false;
  munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

absl::Status MappedFile::Check() const {
  if (region_ == nullptr || !region_->cut) return absl::OkStatus();
  return DataLoss(path_, ": was truncated, or its disk failed, while it was read: some of its ",
                  bytes_.size(), " bytes are gone; restore the file");
}

}  // namespace dtnn
