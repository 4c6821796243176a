#include "comm/ranks/mpi/control/control_channel.h"

#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace dtnn {
namespace {

using std::chrono::milliseconds;

// A rank that sends without pause keeps this one neither from repeating its own nor from its end.
constexpr int kMostOfARound = 64;
constexpr milliseconds kRepeatFirst(20), kRepeatLast(200), kRepeatFor(2000);

// In front of every message.
struct Envelope {
  ControlChannel::Token token;
  int32_t from, to;
};
static_assert(std::has_unique_object_representations_v<Envelope>);

bool MustBeHeard(ControlMessage::Kind kind) {
  return kind == ControlMessage::Kind::kAbort || kind == ControlMessage::Kind::kLeave ||
         kind == ControlMessage::Kind::kHello;
}

}  // namespace

// It is sent unencrypted, so it is not a secret; and programs over MPI link no OpenSSL for it.
ControlChannel::Token ControlChannel::NewToken() {
  Token token = {};
  auto* const bytes = reinterpret_cast<std::byte*>(token.data());
  for (size_t got = 0; got < sizeof(token);) {
    const ssize_t n = getrandom(bytes + got, sizeof(token) - got, 0);
    if (n > 0) got += size_t(n);
  }
  return token;
}

ControlChannel::ControlChannel(ControlSocket socket, int rank, std::vector<ControlAddress> ranks,
                               const Token& token, Handler handler)
    : socket_(std::move(socket)),
      rank_(rank),
      token_(token),
      handler_(std::move(handler)),
      peers_(ranks.size()),
      buffer_(sizeof(Envelope) + MaxControlBytes(int(ranks.size())), '\0') {
  for (size_t peer = 0; peer < ranks.size(); ++peer) {
    for (const uint32_t host : ranks[peer].hosts) {
      if (host == 0) break;
      sockaddr_in address = {};
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = host;
      address.sin_port = ranks[peer].port;
      peers_[peer].addresses.push_back(address);
    }
  }
}

void ControlChannel::Start() {
  thread_ = std::thread([this] { Run(); });
}

ControlChannel::~ControlChannel() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  socket_.wakeup().Wake();
  if (thread_.joinable()) thread_.join();
}

std::string ControlChannel::Frame(int to, const ControlMessage& message) const {
  const Envelope envelope = {token_, rank_, to};
  std::string bytes(reinterpret_cast<const char*>(&envelope), sizeof(envelope));
  return bytes += Encode(message);
}

void ControlChannel::Write(int to, const std::string& bytes) {
  const Peer& peer = peers_[size_t(to)];
  const auto write = [&](const sockaddr_in& address) {
    sendto(socket_.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  };
  if (peer.from) return write(*peer.from);
  for (const sockaddr_in& address : peer.addresses) write(address);
}

void ControlChannel::Send(int to, ControlMessage message) {
  std::lock_guard lock(mutex_);
  if (!MustBeHeard(message.kind)) return Write(to, Frame(to, message));
  SendUntil(Clock::now() + kRepeatFor, to, std::move(message));
}

void ControlChannel::SendUntil(Clock::time_point end, int to, ControlMessage message) {
  message.number = ++last_number_;
  const Clock::time_point now = Clock::now();
  unheard_.push_back({.kind = message.kind,
                      .to = to,
                      .number = message.number,
                      .bytes = Frame(to, message),
                      .next = now + kRepeatFirst,
                      .end = end,
                      .pause = kRepeatFirst});
  Write(to, unheard_.back().bytes);
  if (unheard_.size() == 1) socket_.wakeup().Wake();
}

std::vector<int> ControlChannel::Greet(Clock::time_point end) {
  std::unique_lock lock(mutex_);
  ControlMessage hello;
  hello.kind = ControlMessage::Kind::kHello;
  for (int rank = 0; rank < int(peers_.size()); ++rank) {
    if (rank != rank_) SendUntil(Clock::time_point::max(), rank, hello);
  }
  const auto is_hello = [](const Unheard& message) {
    return message.kind == ControlMessage::Kind::kHello;
  };
  heard_.wait_until(lock, end, [&] { return std::ranges::none_of(unheard_, is_hello); });
  std::vector<int> silent;
  for (const Unheard& message : unheard_) {
    if (is_hello(message)) silent.push_back(message.to);
  }
  std::erase_if(unheard_, is_hello);
  return silent;
}

void ControlChannel::Flush(Clock::time_point end) {
  std::unique_lock lock(mutex_);
  heard_.wait_until(lock, end, [this] { return unheard_.empty(); });
}

int ControlChannel::Repeat(Clock::time_point now) {
  std::lock_guard lock(mutex_);
  std::erase_if(unheard_, [now](const Unheard& message) { return now >= message.end; });
  if (unheard_.empty()) heard_.notify_all();
  Clock::time_point next = now + kRepeatLast;
  for (Unheard& message : unheard_) {
    if (now >= message.next) {
      Write(message.to, message.bytes);
      message.pause = std::min(2 * message.pause, kRepeatLast);
      message.next = now + message.pause;
    }
    next = std::min(next, message.next);
  }
  if (unheard_.empty()) return -1;
  return int(std::chrono::ceil<milliseconds>(next - now).count());
}

bool ControlChannel::ReceiveOne() {
  sockaddr_in source = {};
  socklen_t size = sizeof(source);
  // One byte more would be cut off unseen, and found by Decode.
  const ssize_t n = recvfrom(socket_.descriptor(), buffer_.data(), buffer_.size(), MSG_DONTWAIT,
                             reinterpret_cast<sockaddr*>(&source), &size);
  if (n < 0) return false;
  Envelope envelope;
  if (size_t(n) < sizeof(envelope)) return true;
  std::memcpy(&envelope, buffer_.data(), sizeof(envelope));
  // A host may have an address that another has too (a bridge's): that rank is not this one.
  const int ranks = int(peers_.size());
  if (envelope.token != token_ || envelope.to != rank_ || envelope.from < 0 ||
      envelope.from >= ranks) {
    return true;
  }
  const std::optional<ControlMessage> message = Decode(
      std::string_view(buffer_).substr(sizeof(envelope), size_t(n) - sizeof(envelope)), ranks);
  if (!message) return true;
  {
    std::lock_guard lock(mutex_);
    peers_[size_t(envelope.from)].from = source;
    if (message->kind == ControlMessage::Kind::kHeard) {
      std::erase_if(unheard_, [&](const Unheard& unheard) {
        return unheard.to == envelope.from && unheard.number == message->number;
      });
      heard_.notify_all();
      return true;
    }
    if (MustBeHeard(message->kind)) {
      ControlMessage heard;
      heard.kind = ControlMessage::Kind::kHeard;
      heard.number = message->number;
      Write(envelope.from, Frame(envelope.from, heard));
    }
  }
  if (message->kind != ControlMessage::Kind::kHello) handler_(envelope.from, *message);
  return true;
}

void ControlChannel::Run() {
  while (true) {
    const int pause = Repeat(Clock::now());
    pollfd descriptors[2] = {{socket_.descriptor(), POLLIN, 0},
                             {socket_.wakeup().descriptor(), POLLIN, 0}};
    poll(descriptors, 2, pause);
    socket_.wakeup().Drain();
    {
      std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    for (int i = 0; i < kMostOfARound && ReceiveOne(); ++i) continue;
  }
}

}  // namespace dtnn
