#include "models/observe/energy/pmlib.h"

#include <poll.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensor/errors.h"
#include "tensor/stopwatch.h"
#include "tensor/text/one_line.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

static_assert(std::endian::native == std::endian::little);

enum Operation : int32_t { kCreate = 0, kStart = 1, kStop = 3, kGet = 4, kFinalize = 5 };

constexpr int32_t kLineBytes = 16;
constexpr double kMostWatts = 1e9;  // a power station
constexpr int64_t kMostSamples = int64_t{1} << 24, kMostSets = 1 << 16, kMostLines = 128;

void Append(int32_t value, std::string& bytes) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// A connection that belongs to one counter. No call waits longer than the time-out.
class Connection {
 public:
  Connection(Socket socket, double timeout_seconds)
      : socket_(std::move(socket)), timeout_(timeout_seconds) {}

  absl::Status AwaitConnection() {
    const Stopwatch watch;
    DTNN_RETURN_IF_ERROR(Wait(POLLOUT, watch));
    return ConnectingError(socket_);
  }

  absl::Status Send(std::string_view bytes) {
    const Stopwatch watch;
    while (!bytes.empty()) {
      const ssize_t sent =
          send(socket_.descriptor(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) bytes.remove_prefix(size_t(sent));
      if (sent < 0 && errno == EAGAIN) DTNN_RETURN_IF_ERROR(Wait(POLLOUT, watch));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        return absl::ErrnoToStatus(errno, "cannot be sent to");
      }
    }
    return absl::OkStatus();
  }

  absl::Status Receive(std::span<std::byte> bytes) {
    const Stopwatch watch;
    while (!bytes.empty()) {
      const ssize_t received = recv(socket_.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT);
      if (received == 0) return absl::UnavailableError("has closed the connection");
      if (received > 0) bytes = bytes.subspan(size_t(received));
      if (received < 0 && errno == EAGAIN) DTNN_RETURN_IF_ERROR(Wait(POLLIN, watch));
      if (received < 0 && errno != EAGAIN && errno != EINTR) {
        return absl::ErrnoToStatus(errno, "cannot be received from");
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<int32_t> ReceiveInt() {
    int32_t value = 0;
    DTNN_RETURN_IF_ERROR(Receive(std::as_writable_bytes(std::span(&value, 1))));
    return value;
  }

  // Whose answer is 0.
  absl::Status Do(std::string_view request, std::string_view refused) {
    DTNN_RETURN_IF_ERROR(Send(request));
    DTNN_ASSIGN_OR_RETURN(const int32_t answer, ReceiveInt());
    if (answer < 0) return FailedPrecondition(refused, " (error ", answer, ")");
    return absl::OkStatus();
  }
  absl::Status Do(Operation operation, std::string_view refused) {
    std::string request;
    Append(operation, request);
    return Do(request, refused);
  }

 private:
  absl::Status Wait(short events, const Stopwatch& since) const {
    pollfd waited = {.fd = socket_.descriptor(), .events = events, .revents = 0};
    const double left = timeout_ - since.seconds();
    const int ready = left <= 0 ? 0 : poll(&waited, 1, int(std::ceil(1e3 * left)));
    if (ready > 0 || (ready < 0 && errno == EINTR)) return absl::OkStatus();
    return absl::DeadlineExceededError(StrCat("does not answer within ", timeout_, " s"));
  }

  const Socket socket_;
  const double timeout_;
};

// Samples of all lines, one after the other; `begin`: the first sample of the last start.
struct Samples {
  std::vector<double> watts;
  int64_t lines = 0, begin = 0;
};

absl::StatusOr<Samples> Fetch(Connection& connection) {
  std::string request;
  Append(kGet, request);
  DTNN_RETURN_IF_ERROR(connection.Send(request));
  DTNN_ASSIGN_OR_RETURN(const int32_t count, connection.ReceiveInt());
  if (count < 0) return FailedPrecondition("refuses to send samples (error ", count, ")");
  DTNN_ASSIGN_OR_RETURN(const int32_t sets, connection.ReceiveInt());
  DTNN_ASSIGN_OR_RETURN(const int32_t lines, connection.ReceiveInt());
  const bool fits = count <= kMostSamples && sets >= 0 && sets <= kMostSets && lines >= 1 &&
                    lines <= kMostLines && count % lines == 0;
  if (!fits) {
    return DataLoss("announces ", count, " samples of ", lines, " lines in ", sets,
                    " sets, which makes no sense");
  }
  std::vector<int32_t> starts(static_cast<size_t>(sets));
  DTNN_RETURN_IF_ERROR(connection.Receive(std::as_writable_bytes(std::span(starts))));
  Samples samples = {.watts = std::vector<double>(size_t(count)), .lines = lines};
  DTNN_RETURN_IF_ERROR(connection.Receive(std::as_writable_bytes(std::span(samples.watts))));
  for (const double watts : samples.watts) {
    if (!(std::abs(watts) <= kMostWatts)) return DataLoss("sends a power of ", watts, " W");
  }
  if (!starts.empty()) samples.begin = starts.back();
  if (samples.begin < 0 || samples.begin > count / lines) {
    return DataLoss("announces a set that begins at sample ", samples.begin, " of ", count / lines);
  }
  return samples;
}

class Pmlib : public EnergySource {
 public:
  explicit Pmlib(const PmlibOptions& options) : options_(options) {}

  std::string Describe() const override { return OneLine(options_.device, 80); }

  absl::StatusOr<double> Joules() override {
    absl::Status status = Stop();
    if (status.ok()) status = Start();
    if (!status.ok()) return Annotated(status);
    return joules_;
  }

  absl::Status Open() { return Annotated(Start()); }

 private:
  absl::Status Annotated(const absl::Status& status) const {
    if (status.ok()) return status;
    return absl::Status(
        status.code(), StrCat("PMlib server ", options_.server.ToString(), ": ", status.message()));
  }

  // To the first address of the server that answers.
  absl::Status Connect() {
    DTNN_ASSIGN_OR_RETURN(const std::vector<SocketAddress> addresses, Resolve(options_.server));
    absl::Status status;
    for (const SocketAddress& address : addresses) {
      absl::StatusOr<Socket> socket = StartConnecting(address);
      status = socket.status();
      if (!status.ok()) continue;
      connection_.emplace(*std::move(socket), options_.timeout_seconds);
      status = connection_->AwaitConnection();
      if (status.ok()) return status;
      connection_.reset();
    }
    return status;
  }

  absl::Status Start() {
    DTNN_RETURN_IF_ERROR(Connect());
    std::string create;
    Append(kCreate, create);
    Append(int32_t(options_.device.size()), create);
    create += options_.device;
    Append(0, create);  // as often as the device can
    Append(0, create);  // lines one by one
    Append(kLineBytes, create);
    create.append("\xff\xff", 2).append(kLineBytes - 2, '\0');  // lines 0 to 15
    DTNN_RETURN_IF_ERROR(
        connection_->Do(create, StrCat("refuses device \"", OneLine(options_.device, 80), "\"")));
    DTNN_RETURN_IF_ERROR(connection_->Do(kStart, "refuses to start"));
    watch_.emplace();
    started_ = TraceClock();
    return absl::OkStatus();
  }

  absl::Status Stop() {
    if (!connection_) return FailedPrecondition("is not connected");
    const double seconds = watch_->seconds();
    const int64_t stopped = TraceClock();
    DTNN_RETURN_IF_ERROR(connection_->Do(kStop, "refuses to stop"));
    DTNN_ASSIGN_OR_RETURN(const Samples samples, Fetch(*connection_));
    DTNN_RETURN_IF_ERROR(connection_->Do(kFinalize, "refuses to end"));
    connection_.reset();
    const size_t per_line = samples.watts.size() / size_t(samples.lines);
    PowerSamples interval = {.begin = started_, .end = stopped, .lines = samples.lines};
    for (size_t line = 0; line < size_t(samples.lines); ++line) {
      const auto watts = std::span(samples.watts)
                             .subspan(line * per_line, per_line)
                             .subspan(size_t(samples.begin));
      joules_ += EnergyOfSamples(watts, seconds);
      interval.watts.insert(interval.watts.end(), watts.begin(), watts.end());
    }
    if (options_.keep != nullptr) options_.keep->Add(std::move(interval));
    return absl::OkStatus();
  }

  const PmlibOptions options_;
  std::optional<Connection> connection_;
  std::optional<Stopwatch> watch_;  // since the counter's start
  int64_t started_ = 0;             // likewise, by TraceClock
  double joules_ = 0;
};

}  // namespace

double EnergyOfSamples(std::span<const double> watts, double seconds) {
  if (watts.empty()) return 0;
  if (watts.size() == 1) return watts[0] * seconds;
  double sum = (watts.front() + watts.back()) / 2;
  for (const double power : watts.subspan(1, watts.size() - 2)) sum += power;
  return sum * seconds / double(watts.size() - 1);
}

absl::StatusOr<std::unique_ptr<EnergySource>> OpenPmlib(const PmlibOptions& options) {
  auto source = std::make_unique<Pmlib>(options);
  DTNN_RETURN_IF_ERROR(source->Open());
  return source;
}

}  // namespace dtnn
