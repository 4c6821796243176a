#include "comm/descriptors/wakeup.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "comm/descriptors/system_error.h"

namespace dtnn {

Wakeup::Wakeup() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (descriptor_ < 0) status_ = SystemError("cannot open a descriptor to wake a thread", errno);
}

Wakeup::Wakeup(Wakeup&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), status_(other.status_) {}

Wakeup::~Wakeup() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Wakeup::Wake() const { eventfd_write(descriptor_, 1); }

void Wakeup::Drain() const {
  eventfd_t ignored = 0;
  eventfd_read(descriptor_, &ignored);
}

}  // namespace dtnn
