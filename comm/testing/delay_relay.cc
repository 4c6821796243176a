// delay_relay MICROSECONDS NAMESPACE...: a switch between network namespaces that hands every frame
// over a fixed time after it was sent.
//
// Makes the interface eth0 (a tap device) in each of them, writes "ready" and runs until it is
// killed. For kernels without the netem queue. One copy in and one out per frame; segments stay as
// large as TCP made them (virtio headers), so that 1 Gbit/s costs little. Bandwidth is limited
// elsewhere (tc tbf).

#include <errno.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;
using Address = std::array<unsigned char, 6>;

// struct virtio_net_hdr, whose own header is not for C++.
constexpr size_t kVirtioHeader = 10;
constexpr size_t kEthernetHeader = 14;
// The largest segment with its headers.
constexpr size_t kMaxFrame = 65536 + 64 + kVirtioHeader;
// More than this on the way to one port is lost, as in any switch.
constexpr size_t kMaxQueuedBytes = size_t{64} << 20;

struct Frame {
  Clock::time_point due;
  std::vector<unsigned char> bytes;
};

struct Port {
  int fd = -1;
  std::deque<Frame> queue = {};
  size_t queued_bytes = 0;
};

[[noreturn]] void Fail(const std::string& what) {
  std::cerr << "delay_relay: " << what << ": " << std::strerror(errno) << "\n";
  std::exit(1);
}

// eth0 of a namespace; this thread stays in that namespace.
int OpenTap(const std::string& name) {
  const std::string path = "/run/netns/" + name;
  const int space = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) Fail(path);
  close(space);
  const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) Fail("/dev/net/tun");
  ifreq request = {};
  std::strncpy(request.ifr_name, "eth0", IFNAMSIZ - 1);
  request.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
  if (ioctl(fd, TUNSETIFF, &request) != 0) Fail("eth0 in " + name);
  int header = kVirtioHeader;
  if (ioctl(fd, TUNSETVNETHDRSZ, &header) != 0) Fail("header of eth0 in " + name);
  if (ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4) != 0) Fail("offloads of eth0 in " + name);
  return fd;
}

class Relay {
 public:
  Relay(std::chrono::microseconds delay, const std::vector<std::string>& namespaces)
      : delay_(delay) {
    for (const std::string& name : namespaces) ports_.push_back({.fd = OpenTap(name)});
  }

  [[noreturn]] void Run() {
    std::vector<pollfd> polled;
    for (const Port& port : ports_)
      polled.push_back({.fd = port.fd, .events = POLLIN, .revents = 0});
    while (true) {
      const std::optional<Clock::time_point> next = Deliver();
      timespec wait = {};
      if (next) {
        const int64_t left =
            std::max<int64_t>(0, std::chrono::nanoseconds(*next - Clock::now()).count());
        wait = {.tv_sec = left / 1000000000, .tv_nsec = left % 1000000000};
      }
      const int ready = ppoll(polled.data(), polled.size(), next ? &wait : nullptr, nullptr);
      if (ready < 0 && errno != EINTR) Fail("poll");
      for (size_t from = 0; ready > 0 && from < ports_.size(); ++from) {
        if (polled[from].revents != 0) Receive(from);
      }
    }
  }

 private:
  void Receive(size_t from) {
    while (true) {
      const ssize_t size = read(ports_[from].fd, buffer_, sizeof(buffer_));
      if (size < 0 && errno != EAGAIN && errno != EINTR && errno != EIO) Fail("read");
      // EIO: the link is down.
      if (size < ssize_t(kVirtioHeader + kEthernetHeader)) return;
      const unsigned char* const ethernet = buffer_ + kVirtioHeader;
      Address to, source;
      std::copy_n(ethernet, to.size(), to.begin());
      std::copy_n(ethernet + to.size(), source.size(), source.begin());
      home_[source] = from;
      const auto known = home_.find(to);
      for (size_t port = 0; port < ports_.size(); ++port) {
        if (port != from && (known == home_.end() || known->second == port)) {
          Send(port, size_t(size));
        }
      }
    }
  }

  void Send(size_t to, size_t size) {
    Port& port = ports_[to];
    if (port.queued_bytes + size > kMaxQueuedBytes) return;
    port.queued_bytes += size;
    port.queue.push_back({.due = Clock::now() + delay_, .bytes = {buffer_, buffer_ + size}});
  }

  // What is due; returns when the next will be.
  std::optional<Clock::time_point> Deliver() {
    std::optional<Clock::time_point> next;
    for (Port& port : ports_) {
      while (!port.queue.empty() && port.queue.front().due <= Clock::now()) {
        const std::vector<unsigned char>& bytes = port.queue.front().bytes;
        // A port whose link is down or whose kernel has no room loses the frame.
        [[maybe_unused]] const ssize_t written = write(port.fd, bytes.data(), bytes.size());
        port.queued_bytes -= bytes.size();
        port.queue.pop_front();
      }
      if (!port.queue.empty()) {
        next = std::min(next.value_or(port.queue.front().due), port.queue.front().due);
      }
    }
    return next;
  }

  const std::chrono::microseconds delay_;
  std::vector<Port> ports_;
  std::map<Address, size_t> home_;  // the port behind which an address was last seen
  unsigned char buffer_[kMaxFrame];
};

int Main(const std::vector<std::string>& arguments) {
  int64_t delay = -1;
  if (!arguments.empty()) {
    const std::string& text = arguments[0];
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), delay);
    if (error != std::errc() || stop != text.data() + text.size()) delay = -1;
  }
  if (delay < 0 || delay > 60'000'000 || arguments.size() < 2) {
    std::cerr << "usage: delay_relay MICROSECONDS NAMESPACE...\n";
    return 2;
  }
  // Sleep as exactly as the kernel can, instead of 50 us longer.
  prctl(PR_SET_TIMERSLACK, 1);
  // Ranks that poll must not keep the link from its work, not even real-time ones; where this is
  // not permitted, the link is as fast as the scheduler lets it be.
  const sched_param priority = {.sched_priority = sched_get_priority_max(SCHED_FIFO)};
  sched_setscheduler(0, SCHED_FIFO, &priority);
  Relay relay(std::chrono::microseconds(delay), {arguments.begin() + 1, arguments.end()});
  std::cout << "ready" << std::endl;
  close(STDOUT_FILENO);
  relay.Run();
}

}  // namespace
}  // namespace dtnn

int main(int argc, char** argv) { return dtnn::Main({argv + std::min(argc, 1), argv + argc}); }
