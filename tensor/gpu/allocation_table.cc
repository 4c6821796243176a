#include "tensor/gpu/allocation_table.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include "absl/strings/str_format.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn::gpu {
namespace {

constexpr size_t kRemembered = 64;

std::string Address(const void* address) { return absl::StrFormat("%p", address); }

}  // namespace

std::string Allocation::ToString() const {
  return StrCat(Counted(int64_t(bytes), "byte"), " of ",
                kind == MemoryKind::kDevice ? "device" : "pinned", " memory for ", Quoted(what));
}

void AllocationTable::Add(std::byte* base, size_t bytes, MemoryKind kind, std::string_view what) {
  const std::lock_guard lock(mutex_);
  std::erase_if(removed_, [&](const Allocation& removed) { return removed.base == base; });
  static std::atomic<uint64_t> added = 0;
  live_[base] = {base, bytes, kind, std::string(what), ++added};
  bytes_[size_t(kind)] += bytes;
}

absl::StatusOr<Allocation> AllocationTable::Remove(const void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(static_cast<const std::byte*>(base));
  if (found == live_.end()) {
    const auto removed = std::ranges::find(removed_, base, &Allocation::base);
    if (removed == removed_.end()) {
      return NotFound(Address(base), " is not the beginning of an allocation");
    }
    return NotFound(Address(base), " has been freed already; it was ", removed->ToString());
  }
  Allocation allocation = std::move(found->second);
  live_.erase(found);
  bytes_[size_t(allocation.kind)] -= allocation.bytes;
  removed_.push_back(allocation);
  if (removed_.size() > kRemembered) removed_.pop_front();
  return allocation;
}

absl::StatusOr<Allocation> AllocationTable::Find(const void* begin, size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const std::byte* const first = static_cast<const std::byte*>(begin);
  auto found = live_.upper_bound(first);
  if (found != live_.begin()) {
    const Allocation& allocation = (--found)->second;
    const size_t offset = size_t(first - allocation.base);
    if (offset < allocation.bytes || (offset == allocation.bytes && bytes == 0)) {
      if (bytes <= allocation.bytes - offset) return allocation;
      return InvalidArgument(Counted(int64_t(bytes), "byte"), " from byte ", offset,
                             " on do not fit in ", allocation.ToString());
    }
  }
  for (const Allocation& removed : removed_) {
    if (first >= removed.base && first < removed.base + removed.bytes) {
      return InvalidArgument(Address(begin),
                             " lies in memory that has been freed: ", removed.ToString());
    }
  }
  return InvalidArgument(Address(begin),
                         " lies in no device or pinned memory of this GPU; memory from elsewhere "
                         "has to be copied to one of them first");
}

size_t AllocationTable::total_bytes(MemoryKind kind) const {
  const std::lock_guard lock(mutex_);
  return bytes_[size_t(kind)];
}

std::string AllocationTable::Largest(MemoryKind kind, size_t most) const {
  const std::lock_guard lock(mutex_);
  std::vector<const Allocation*> found;
  for (const auto& [base, allocation] : live_) {
    if (allocation.kind == kind) found.push_back(&allocation);
  }
  std::ranges::stable_sort(found, std::ranges::greater(), &Allocation::bytes);
  std::string text;
  for (size_t i = 0; i < std::min(most, found.size()); ++i) {
    StrAppend(&text, "  ", found[i]->ToString(), "\n");
  }
  if (found.size() > most) StrAppend(&text, "  and ", found.size() - most, " more\n");
  return text;
}

}  // namespace dtnn::gpu
