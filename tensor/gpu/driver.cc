#include "tensor/gpu/driver.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "tensor/errors.h"
#include "tensor/gpu/launch_log.h"
#include "tensor/text/counted.h"

namespace dtnn::gpu {
namespace {

std::string ToString(const Dim3& dim) { return StrCat(dim.x, " x ", dim.y, " x ", dim.z); }

bool Fits(const Dim3& dim, const Dim3& largest) {
  return dim.x >= 1 && dim.y >= 1 && dim.z >= 1 && dim.x <= largest.x && dim.y <= largest.y &&
         dim.z <= largest.z;
}

absl::Status CheckShape(const Kernel& kernel, const Properties& properties) {
  if (!Fits(kernel.grid, properties.largest_grid)) {
    return InvalidArgument("a grid of ", ToString(kernel.grid), " blocks, expected 1 x 1 x 1 to ",
                           ToString(properties.largest_grid));
  }
  const uint32_t most = std::min(kernel.most_threads, properties.threads_per_block);
  if (!Fits(kernel.block, properties.largest_block) || kernel.block.count() > most) {
    return InvalidArgument("blocks of ", ToString(kernel.block), " threads, expected 1 to ", most,
                           " in all, at most ", ToString(properties.largest_block));
  }
  const uint32_t threads = uint32_t(kernel.block.count());
  if (kernel.cooperation != Cooperation::kNone && threads % kWarpSize != 0) {
    return InvalidArgument("blocks of ", threads,
                           " threads, which wait for each other; expected a "
                           "multiple of ",
                           kWarpSize);
  }
  if (kernel.shared_bytes > properties.shared_bytes_per_block) {
    return InvalidArgument(kernel.shared_bytes,
                           " bytes of shared memory per block, expected at most ",
                           properties.shared_bytes_per_block);
  }
  if (kernel.argument_bytes > Stream::kMostArgumentBytes) {
    return InvalidArgument(kernel.argument_bytes, " bytes of arguments, expected at most ",
                           Stream::kMostArgumentBytes);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status Stream::Copy(void* to, const void* from, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const auto check = [&]() -> absl::Status {
    DTNN_RETURN_IF_ERROR(WithContext(gpu_.allocations().Find(from, bytes), "the source").status());
    DTNN_RETURN_IF_ERROR(
        WithContext(gpu_.allocations().Find(to, bytes), "the destination").status());
    std::byte* const target = static_cast<std::byte*>(to);
    const std::byte* const source = static_cast<const std::byte*>(from);
    if (target < source + bytes && source < target + bytes) {
      return InvalidArgument("source and destination overlap");
    }
    if (LaunchLog* const log = LaunchLog::Current()) {
      log->Add(LaunchLog::Work::kCopy, "copy", bytes, bytes);
      if (log->runs_nothing()) return absl::OkStatus();
    }
    return DoCopy(target, source, bytes);
  };
  return WithContext(check(), gpu_.name(), ", stream ", name_, ": copying ", bytes, " bytes");
}

absl::Status Stream::Fill(void* to, uint8_t value, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  const auto check = [&]() -> absl::Status {
    DTNN_RETURN_IF_ERROR(gpu_.allocations().Find(to, bytes).status());
    if (LaunchLog* const log = LaunchLog::Current()) {
      log->Add(LaunchLog::Work::kFill, "fill", 0, bytes);
      if (log->runs_nothing()) return absl::OkStatus();
    }
    return DoFill(static_cast<std::byte*>(to), value, bytes);
  };
  return WithContext(check(), gpu_.name(), ", stream ", name_, ": filling ", bytes, " bytes");
}

absl::Status Stream::Launch(const Kernel& kernel) {
  absl::Status status = CheckShape(kernel, gpu_.properties());
  LaunchLog* const log = LaunchLog::Current();
  if (status.ok() && log != nullptr) log->AddKernel(kernel);
  if (status.ok() && (log == nullptr || !log->runs_nothing())) status = DoLaunch(kernel);
  return WithContext(status, gpu_.name(), ", stream ", name_, ": kernel ", Quoted(kernel.name));
}

absl::StatusOr<void*> Gpu::Allocate(size_t bytes, MemoryKind kind, std::string_view what) {
  absl::StatusOr<std::byte*> memory = DoAllocate(std::max<size_t>(bytes, 1), kind, what);
  if (memory.ok()) {
    allocations_.Add(*memory, std::max<size_t>(bytes, 1), kind, what);
    return *memory;
  }
  const Allocation wanted = {nullptr, bytes, kind, std::string(what)};
  absl::Status status = WithContext(memory.status(), name_, ": allocating ", wanted.ToString());
  if (!absl::IsResourceExhausted(status)) return status;
  std::string told(status.message());
  if (const auto info = Memory(); kind == MemoryKind::kDevice && info.ok()) {
    StrAppend(&told, "; ", info->free_bytes, " of ", info->total_bytes, " bytes are free");
  }
  const std::string held = allocations_.Largest(kind);
  if (!held.empty()) StrAppend(&told, "; this process holds\n", held);
  return absl::ResourceExhaustedError(told);
}

absl::StatusOr<void*> Gpu::Allocate(size_t bytes, std::string_view what) {
  return Allocate(bytes, MemoryKind::kDevice, what);
}

absl::StatusOr<void*> Gpu::AllocatePinned(size_t bytes, std::string_view what) {
  return Allocate(bytes, MemoryKind::kPinned, what);
}

absl::Status Gpu::Free(void* memory) {
  if (memory == nullptr) return absl::OkStatus();
  const auto found = WithContext(allocations_.Remove(memory), name_, ": freeing");
  if (!found.ok()) return found.status();
  const absl::Status freed = DoFree(*found);
  if (!freed.ok()) allocations_.Add(found->base, found->bytes, found->kind, found->what);
  return WithContext(freed, name_, ": freeing ", found->ToString());
}

absl::Status CheckDevice(std::string_view kind, int device, int count) {
  if (device >= 0 && device < count) return absl::OkStatus();
  if (count == 0) return NotFound(kind, ":", device, " is not there: this machine has no GPU");
  return NotFound(kind, ":", device, " is not there: there ", count == 1 ? "is " : "are ",
                  Counted(count, "GPU"), ", the last is ", kind, ":", count - 1);
}

}  // namespace dtnn::gpu
