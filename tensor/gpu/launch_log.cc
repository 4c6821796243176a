#include "tensor/gpu/launch_log.h"

#include <atomic>
#include <utility>

namespace dtnn::gpu {
namespace {

std::atomic<LaunchLog*> current = nullptr;

}  // namespace

LaunchLog::LaunchLog(Runs runs) : runs_(runs) { current = this; }

LaunchLog::~LaunchLog() { current = nullptr; }

LaunchLog* LaunchLog::Current() { return current.load(std::memory_order_relaxed); }

void LaunchLog::AddKernel(const Kernel& kernel) {
  Accesses accesses;
  // Declare changes nothing: it needs the places of the functor's pointers.
  kernel.declare(const_cast<void*>(kernel.arguments), accesses);
  size_t read = 0, written = 0;
  for (const Accesses::Item& item : accesses.items()) {
    const Access& access = item.access;
    (access.mode == AccessMode::kRead ? read : written) += access.rows * access.row_bytes;
  }
  Add(Work::kKernel, kernel.name, read, written);
}

void LaunchLog::Add(Work work, std::string_view name, size_t read_bytes, size_t written_bytes) {
  const std::lock_guard lock(mutex_);
  entries_.push_back({work, std::string(name), read_bytes, written_bytes});
}

std::vector<LaunchLog::Entry> LaunchLog::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(entries_, {});
}

}  // namespace dtnn::gpu
