#include "comm/transport/tcp/dial.h"

#include <poll.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "comm/transport/meeting/greeting.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;
using std::chrono::milliseconds;

// Between two attempts.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);
// An attempt to connect, or to be challenged, that got no answer is given up for another one.
constexpr std::chrono::seconds kConnecting(5), kGreeting(10);

// What is not there yet, or was too busy for this process, may be later.
bool ComesLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsOutOfRange(status);
}

class Dialling {
 public:
  Dialling(const DialOptions& options, const JobSecret& secret, Wait& wait)
      : options_(options), secret_(secret), wait_(wait) {}

  absl::StatusOr<Link> Run();

 private:
  Wait::Text Text() const {
    return {.who = options_.who,
            .what = StrCat(Door(), " to answer"),
            .trouble = trouble_,
            .advice =
                "is it running, with the same address and port, and does no firewall stop "
                "it?"};
  }
  std::string Door() const { return StrCat(options_.door, " at ", options_.address.ToString()); }
  // Errors are of this attempt, but for those of `wait`.
  absl::StatusOr<std::unique_ptr<Stream>> CallAll();
  absl::StatusOr<std::unique_ptr<Stream>> Call(const SocketAddress& address);
  // Until poll reports the events; Unavailable at `end`.
  absl::Status Poll(int descriptor, short events, Clock::time_point end);

  const DialOptions& options_;
  const JobSecret& secret_;
  Wait& wait_;
  std::vector<SocketAddress> addresses_;  // empty: not known yet
  std::string trouble_;                   // of the last attempt
  absl::Status ended_;                    // why the wait has
};

absl::Status Dialling::Poll(int descriptor, short events, Clock::time_point end) {
  pollfd polled = {descriptor, events, 0};
  const absl::StatusOr<bool> ready = wait_.Until(
      end, [this] { return Text(); },
      [&](Clock::time_point until) {
        return PollUntil({&polled, 1}, until);
      });
  if (!ready.ok()) return ended_ = ready.status();
  return *ready ? absl::OkStatus() : Unavailable("no answer");
}

absl::StatusOr<std::unique_ptr<Stream>> Dialling::Call(const SocketAddress& address) {
  DTNN_ASSIGN_OR_RETURN(Socket socket, StartConnecting(address));
  DTNN_RETURN_IF_ERROR(Poll(socket.descriptor(), POLLOUT, wait_.Now() + kConnecting));
  DTNN_RETURN_IF_ERROR(ConnectingError(socket));
  std::string card;
  if (options_.card) {
    DTNN_ASSIGN_OR_RETURN(card, options_.card(socket));
  }
  DTNN_ASSIGN_OR_RETURN(std::unique_ptr<Stream> stream,
                        MakeStream(options_.stream, std::move(socket), options_.address.host));
  DTNN_ASSIGN_OR_RETURN(Handshake handshake, Handshake::Calling(secret_, options_.purpose, card));
  Greeting greeting = {.stream = std::move(stream), .handshake = std::move(handshake)};
  const Clock::time_point end = wait_.Now() + kGreeting;
  while (true) {
    DTNN_RETURN_IF_ERROR(greeting.Advance());
    if (greeting.done()) return std::move(greeting.stream);
    // A call that is given up when it was taken in already would be refused the next time.
    DTNN_RETURN_IF_ERROR(Poll(greeting.stream->descriptor(), greeting.events(),
                              greeting.handshake.proved() ? Clock::time_point::max() : end));
  }
}

absl::StatusOr<std::unique_ptr<Stream>> Dialling::CallAll() {
  // A name that is not known yet may be later; one that is known is not asked for again.
  if (addresses_.empty()) {
    DTNN_ASSIGN_OR_RETURN(addresses_, Resolve(options_.address));
  }
  absl::StatusOr<std::unique_ptr<Stream>> stream = Unavailable("no address");
  for (const SocketAddress& address : addresses_) {
    stream = Call(address);
    if (stream.ok() || !ended_.ok() || !ComesLater(stream.status())) break;
  }
  return stream;
}

absl::StatusOr<Link> Dialling::Run() {
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    absl::StatusOr<std::unique_ptr<Stream>> stream = CallAll();
    if (stream.ok()) return Link{*std::move(stream), options_.address.ToString()};
    if (!ended_.ok()) return ended_;
    if (!ComesLater(stream.status())) {
      return WithContext(stream.status(), options_.who, " cannot join ", Door());
    }
    trouble_ = StrCat("the last answer: ", stream.status().message());
    DTNN_RETURN_IF_ERROR(wait_.Pause(pause, [this] { return Text(); }));
  }
}

}  // namespace

absl::StatusOr<Link> Dial(const DialOptions& options, const JobSecret& secret, Wait& wait) {
  return Dialling(options, secret, wait).Run();
}

}  // namespace dtnn
