#include "comm/transport/shared/handover.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "comm/descriptors/system_error.h"
#include "tensor/errors.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

using Token = decltype(Invitation::token);

// The memory, and the other rank's end of the bell.
constexpr size_t kDescriptors = 2;
constexpr size_t kControlBytes = CMSG_SPACE(kDescriptors * sizeof(int));

struct Address {
  sockaddr_un bytes = {};
  socklen_t size = 0;
};

// A name without a file begins with a zero.
Address AddressOf(const Invitation& invitation) {
  const std::string name =
      StrCat("dtnn ", absl::Hex(invitation.name[0]), " ", absl::Hex(invitation.name[1]));
  Address address;
  address.bytes.sun_family = AF_UNIX;
  name.copy(address.bytes.sun_path + 1, sizeof(address.bytes.sun_path) - 1);
  address.size = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return address;
}

absl::StatusOr<Descriptor> OpenSocket() {
  Descriptor opened(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (opened.descriptor() < 0) return SystemError("cannot open a Unix socket", errno);
  return opened;
}

// From now on the system drops what is not the token, in the process that sends it.
absl::Status TakeOnly(const Token& token, const Descriptor& socket) {
  constexpr size_t kWords = 4;
  static_assert(sizeof(Token) == kWords * sizeof(uint32_t));
  std::array<uint32_t, kWords> words;
  std::memcpy(words.data(), &token, sizeof(token));
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_LEN, 0)};
  // Jumps to the last line, which drops it, where `value` is not what was loaded.
  const auto require = [&program](uint32_t value) {
    constexpr size_t kLines = 1 + 1 + 2 * kWords + 2;
    const auto to_last = uint8_t(kLines - 1 - program.size() - 1);
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, to_last));
  };
  require(sizeof(Token));
  for (size_t i = 0; i < kWords; ++i) {
    program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(i * sizeof(uint32_t))));
    require(ntohl(words[i]));  // loads are in the order of networks
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, sizeof(Token)));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, 0));
  const sock_fprog filter = {.len = uint16_t(program.size()), .filter = program.data()};
  if (setsockopt(socket.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof(filter)) != 0) {
    return SystemError("cannot filter a Unix socket", errno);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Inbox> Inbox::Create() {
  Invitation invitation;
  if (getrandom(&invitation, sizeof(invitation), 0) != ssize_t(sizeof(invitation))) {
    return SystemError("cannot get random bytes", errno);
  }
  DTNN_ASSIGN_OR_RETURN(Descriptor socket, OpenSocket());
  DTNN_RETURN_IF_ERROR(TakeOnly(invitation.token, socket));  // before anybody finds it
  const Address address = AddressOf(invitation);
  if (bind(socket.descriptor(), reinterpret_cast<const sockaddr*>(&address.bytes), address.size) !=
      0) {
    return SystemError("cannot name a Unix socket", errno);
  }
  return Inbox(std::move(socket), invitation);
}

absl::StatusOr<SharedEnd> Inbox::Take(size_t ring_bytes) {
  Token token = {};
  iovec range = {&token, sizeof(token)};
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control;
  msghdr message = {};
  message.msg_iov = &range;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t n = recvmsg(socket_.descriptor(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (n < 0) return SystemError("cannot receive shared memory", errno);
  std::array<int, kDescriptors> got;
  got.fill(-1);
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    std::memcpy(got.data(), CMSG_DATA(header),
                std::min(sizeof(got), size_t(header->cmsg_len - CMSG_LEN(0))));
  }
  const Descriptor file(got[0]);
  Descriptor bell(got[1]);
  // A system may accept a filter that it does not apply.
  if (n != ssize_t(sizeof(token)) || std::memcmp(&token, &invitation_.token, sizeof(token)) != 0) {
    return InvalidArgument("cannot receive shared memory: another process has sent a message");
  }
  if (bell.descriptor() < 0 && (message.msg_flags & MSG_CTRUNC) != 0) {
    return ResourceExhausted(
        "cannot receive shared memory: the system cuts its descriptors off; there are too many "
        "open "
        "files (ulimit -n), or a security policy forbids them");
  }
  if (bell.descriptor() < 0) return InvalidArgument("shared memory without what belongs to it");
  DTNN_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Open(file, ring_bytes));
  return SharedEnd{.memory = std::move(memory), .created = false, .bell = std::move(bell)};
}

absl::StatusOr<SharedEnd> HandOver(const Invitation& invitation, size_t ring_bytes) {
  Descriptor file;
  DTNN_ASSIGN_OR_RETURN(SharedMemory memory, SharedMemory::Create(file, ring_bytes));
  std::array<int, 2> ends;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) != 0) {
    return SystemError("cannot open a pair of Unix sockets", errno);
  }
  Descriptor mine(ends[0]);
  const Descriptor bell(ends[1]);
  DTNN_ASSIGN_OR_RETURN(const Descriptor socket, OpenSocket());
  Address address = AddressOf(invitation);
  Token token;
  std::memcpy(&token, &invitation.token, sizeof(token));
  iovec range = {&token, sizeof(token)};
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control = {};
  msghdr message = {};
  message.msg_name = &address.bytes;
  message.msg_namelen = address.size;
  message.msg_iov = &range;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(kDescriptors * sizeof(int));
  const std::array<int, kDescriptors> given = {file.descriptor(), bell.descriptor()};
  std::memcpy(CMSG_DATA(header), given.data(), sizeof(given));
  if (sendmsg(socket.descriptor(), &message, MSG_DONTWAIT) < 0) {
    return SystemError("cannot send shared memory", errno);
  }
  return SharedEnd{.memory = std::move(memory), .created = true, .bell = std::move(mine)};
}

}  // namespace dtnn
