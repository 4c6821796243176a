#include "tensor/gpu/memory_pool.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <utility>

#include "tensor/errors.h"
#include "tensor/rounding.h"

namespace dtnn::gpu {

size_t BlockBytes(size_t bytes) {
  constexpr size_t kLeast = 512;
  if (bytes <= kLeast) return kLeast;
  if (bytes > SIZE_MAX / 2) return bytes;  // which nobody has
  return RoundUp(bytes, std::bit_floor(bytes - 1) / 4);
}

MemoryPool::~MemoryPool() {
  const std::string leaks = Leaks();
  if (!leaks.empty()) {
    std::fprintf(stderr, "%s: never freed:\n%s", gpu_.name().c_str(), leaks.c_str());
  }
  (void)Release();
  for (const auto& [memory, block] : used_) (void)gpu_.Free(memory);
}

absl::StatusOr<void*> MemoryPool::Allocate(Stream& stream, size_t bytes, std::string_view what) {
  const std::lock_guard lock(mutex_);
  absl::StatusOr<Block> block = Take(stream, BlockBytes(bytes));
  if (!block.ok()) {
    return WithContext(block.status(), gpu_.name(), ": ", bytes, " bytes for ", Quoted(what));
  }
  block->what = what;
  std::byte* const memory = block->memory;
  block->used = bytes;
  const absl::Status noted = stream.NoteAllocated(memory, block->bytes, bytes, what);
  if (noted.ok()) {
    used_.emplace(memory, *std::move(block));
    return memory;
  }
  free_.emplace(block->bytes, *std::move(block));
  return noted;
}

// A free block: this stream's own; one that is no longer in use; a new one; any.
absl::StatusOr<MemoryPool::Block> MemoryPool::Take(Stream& stream, size_t bytes) {
  const auto [begin, end] = free_.equal_range(bytes);
  const auto take = [&](std::multimap<size_t, Block>::iterator at) {
    Block block = std::move(at->second);
    free_.erase(at);
    return block;
  };
  for (auto at = begin; at != end; ++at) {
    if (at->second.freed_by == &stream) return take(at);
  }
  for (auto at = begin; at != end; ++at) {
    DTNN_ASSIGN_OR_RETURN(const bool done, at->second.freed->Query());
    if (done) return take(at);
  }
  absl::StatusOr<Block> fresh = TakeFromGpu(stream, bytes);
  if (!absl::IsResourceExhausted(fresh.status())) return fresh;
  if (begin != end) {
    DTNN_RETURN_IF_ERROR(stream.Wait(*begin->second.freed));
    return take(begin);
  }
  // What is free in other sizes.
  if (free_.empty()) return fresh;
  DTNN_RETURN_IF_ERROR(ReleaseLocked());
  return TakeFromGpu(stream, bytes);
}

absl::StatusOr<MemoryPool::Block> MemoryPool::TakeFromGpu(Stream& stream, size_t bytes) {
  const auto memory = gpu_.Allocate(bytes, "the pool");
  if (memory.ok()) return Block{static_cast<std::byte*>(*memory), bytes, 0, "", &stream, nullptr};
  if (!absl::IsResourceExhausted(memory.status()) || used_.empty()) return memory.status();
  return ResourceExhausted(memory.status().message(), "the pool's largest:\n", LeaksLocked());
}

absl::Status MemoryPool::Free(Stream& stream, void* memory) {
  if (memory == nullptr) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  const auto found = used_.find(static_cast<std::byte*>(memory));
  if (found == used_.end()) {
    return NotFound(gpu_.name(),
                    ": freeing what the pool has not allocated, or what has been freed already");
  }
  Block& block = found->second;
  if (block.freed == nullptr) {
    DTNN_ASSIGN_OR_RETURN(block.freed, gpu_.CreateEvent());
  }
  DTNN_RETURN_IF_ERROR(stream.NoteFreed(memory, block.bytes, block.used));
  DTNN_RETURN_IF_ERROR(stream.Record(*block.freed));
  block.freed_by = &stream;
  free_.emplace(block.bytes, std::move(block));
  used_.erase(found);
  return absl::OkStatus();
}

absl::Status MemoryPool::Release() {
  const std::lock_guard lock(mutex_);
  return ReleaseLocked();
}

absl::Status MemoryPool::ReleaseLocked() {
  while (!free_.empty()) {
    DTNN_RETURN_IF_ERROR(gpu_.Free(free_.begin()->second.memory));
    free_.erase(free_.begin());
  }
  return absl::OkStatus();
}

std::string MemoryPool::Leaks() const {
  const std::lock_guard lock(mutex_);
  return LeaksLocked();
}

std::string MemoryPool::LeaksLocked() const {
  std::vector<const Block*> blocks;
  for (const auto& [memory, block] : used_) blocks.push_back(&block);
  std::ranges::stable_sort(blocks, std::ranges::greater(), &Block::bytes);
  std::string text;
  for (const Block* const block : blocks) {
    StrAppend(&text, "  ", block->bytes, " bytes for ", Quoted(block->what), "\n");
  }
  return text;
}

size_t MemoryPool::used_bytes() const {
  const std::lock_guard lock(mutex_);
  size_t bytes = 0;
  for (const auto& [memory, block] : used_) bytes += block.bytes;
  return bytes;
}

size_t MemoryPool::pooled_bytes() const {
  size_t bytes = used_bytes();
  const std::lock_guard lock(mutex_);
  for (const auto& [size, block] : free_) bytes += size;
  return bytes;
}

}  // namespace dtnn::gpu
