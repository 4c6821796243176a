#include "comm/transport/mqtt/mqtt_datagrams.h"

#include <mosquitto.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "comm/secrets/crypto/random_secret.h"
#include "comm/secrets/crypto/wiped.h"
#include "comm/transport/mqtt/mqtt_will.h"
#include "comm/transport/tls/tls_stream.h"
#include "comm/wait.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = Wait::Clock;
using std::chrono::milliseconds;

// At least once: what a broker drops all the same is noticed (comm/transport/relay/relay_link.h).
constexpr int kQuality = 1;
constexpr int kKeepAliveSeconds = 30;
// Between two attempts to reach the broker, and between two looks at a connection on its way.
constexpr milliseconds kPauseFirst(10), kPauseLast(250);
constexpr int kRefusedSubscription = 128;

std::string Reason(int error) {
  if (error == MOSQ_ERR_UNKNOWN) return "the connection fails";
  return error == MOSQ_ERR_ERRNO ? std::strerror(errno) : mosquitto_strerror(error);
}

class MqttDatagrams : public Datagrams {
 public:
  MqttDatagrams(const MqttOptions& options, const JobSecret& secret, std::string topic)
      : options_(options), secret_(secret), topic_(std::move(topic)) {}
  ~MqttDatagrams() override {
    if (client_ == nullptr) return;
    mosquitto_disconnect(client_);
    if (looping_) mosquitto_loop_stop(client_, false);
    mosquitto_destroy(client_);
  }

  absl::StatusOr<uint64_t> DrawNumber() override {
    DTNN_ASSIGN_OR_RETURN(token_, RandomSecret());
    return NumberOf(secret_, token_);
  }
  absl::Status Open(const Instance& me, Handlers handlers,
                    const CommunicatorOptions& patience) override;
  void Send(int to, std::string bytes) override {
    const std::string topic = TopicOfRank(topic_, to);
    {
      const std::lock_guard lock(mutex_);
      ++on_their_way_;
    }
    const int error = mosquitto_publish(client_, nullptr, topic.c_str(), int(bytes.size()),
                                        bytes.data(), kQuality, /*retain=*/false);
    if (error != MOSQ_ERR_SUCCESS) Arrived();
  }
  bool Flush(Clock::time_point until) override {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, until, [this] { return on_their_way_ <= 0 || cut_; });
  }
  std::string name() const override { return "MQTT at " + options_.broker.ToString(); }
  // A broker keeps 1000 messages for a client, unless its settings say otherwise.
  size_t window() const override { return 2 << 20; }

 private:
  static MqttDatagrams& Of(void* self) { return *static_cast<MqttDatagrams*>(self); }

  absl::Status Protect();
  void SetCallbacks();
  // On the library's thread:
  void Connected(int code);
  void Subscribed(std::span<const int> granted);
  void Disconnected(int code);
  void Hear(const mosquitto_message& message);
  void Arrived() {
    const std::lock_guard lock(mutex_);
    --on_their_way_;
    changed_.notify_all();
  }
  void Refuse(const absl::Status& why);

  const MqttOptions options_;
  const JobSecret secret_;
  const std::string topic_;
  Secret token_;
  Instance me_;
  Handlers handlers_;
  mosquitto* client_ = nullptr;
  bool looping_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  bool ready_ = false, cut_ = false;
  absl::Status refused_;  // for good
  std::string last_;      // why the last attempt failed
  int64_t on_their_way_ = 0;
};

absl::Status MqttDatagrams::Protect() {
  if (!options_.user.empty()) {
    const char* const password = options_.password.empty() ? nullptr : options_.password.c_str();
    if (mosquitto_username_pw_set(client_, options_.user.c_str(), password) != MOSQ_ERR_SUCCESS) {
      return InvalidArgument("MQTT: the user's name is not UTF-8");
    }
  }
  if (!options_.tls) return absl::OkStatus();
  const BrokerCertificates& files = *options_.tls;
  const auto name = [](const std::string& path) { return path.empty() ? nullptr : path.c_str(); };
  std::error_code error_of_file;
  if (!std::filesystem::is_regular_file(files.authority, error_of_file)) {
    return InvalidArgument(files.authority, ": expected a file in PEM form");
  }
  // No passphrase is asked for: a rank has no terminal.
  int error = mosquitto_tls_set(client_, name(files.authority), nullptr, name(files.certificate),
                                name(files.key), [](char*, int, int, void*) { return 0; });
  if (error == MOSQ_ERR_SUCCESS) {
    error = mosquitto_tls_opts_set(client_, /*SSL_VERIFY_PEER*/ 1, "tlsv1.3", nullptr);
  }
  if (error == MOSQ_ERR_SUCCESS) return absl::OkStatus();
  return InvalidArgument("MQTT with TLS: ", Reason(error), "; certificates: ", files.authority, " ",
                         files.certificate, " ", files.key);
}

void MqttDatagrams::SetCallbacks() {
  mosquitto_connect_callback_set(
      client_, [](mosquitto*, void* self, int code) { Of(self).Connected(code); });
  mosquitto_subscribe_callback_set(client_,
                                   [](mosquitto*, void* self, int, int count, const int* granted) {
                                     Of(self).Subscribed({granted, size_t(count)});
                                   });
  mosquitto_disconnect_callback_set(
      client_, [](mosquitto*, void* self, int code) { Of(self).Disconnected(code); });
  mosquitto_message_callback_set(
      client_,
      [](mosquitto*, void* self, const mosquitto_message* message) { Of(self).Hear(*message); });
  mosquitto_publish_callback_set(client_, [](mosquitto*, void* self, int) { Of(self).Arrived(); });
}

void MqttDatagrams::Refuse(const absl::Status& why) {
  const std::lock_guard lock(mutex_);
  if (refused_.ok()) refused_ = why;
  changed_.notify_all();
}

void MqttDatagrams::Connected(int code) {
  if (code != 0) {
    return Refuse(absl::PermissionDeniedError(
        StrCat("the broker refuses: ", mosquitto_connack_string(code))));
  }
  {
    const std::lock_guard lock(mutex_);
    // A process that comes back would have missed messages.
    if (cut_) {
      mosquitto_disconnect(client_);
      return;
    }
  }
  std::string own = TopicOfRank(topic_, me_.rank), left = topic_ + "/left";
  char* topics[] = {own.data(), left.data()};
  mosquitto_subscribe_multiple(client_, nullptr, 2, topics, kQuality, 0, nullptr);
}

void MqttDatagrams::Subscribed(std::span<const int> granted) {
  if (std::ranges::count(granted, kRefusedSubscription) > 0) {
    return Refuse(absl::PermissionDeniedError(
        "the broker does not let this user subscribe to topics that begin with dtnn/"));
  }
  const std::lock_guard lock(mutex_);
  ready_ = true;
  changed_.notify_all();
}

void MqttDatagrams::Disconnected(int code) {
  bool was_ready = false;
  {
    const std::lock_guard lock(mutex_);
    last_ = code == 0 ? "the connection was ended" : Reason(code);
    was_ready = ready_ && !cut_;
    cut_ |= ready_;
    changed_.notify_all();
  }
  if (was_ready && code != 0) {
    handlers_.cut(
        Unavailable("the broker at ", options_.broker.ToString(), " is gone: ", Reason(code)));
  }
}

void MqttDatagrams::Hear(const mosquitto_message& message) {
  const std::string_view bytes(static_cast<const char*>(message.payload),
                               size_t(std::max(0, message.payloadlen)));
  if (!std::string_view(message.topic).ends_with("/left")) return handlers_.received(bytes);
  const std::span<const uint8_t> will(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  if (const std::optional<Instance> who = ReadWill(secret_, will)) handlers_.left(*who);
}

absl::Status MqttDatagrams::Open(const Instance& me, Handlers handlers,
                                 const CommunicatorOptions& options) {
  static const int initialised = mosquitto_lib_init();
  (void)initialised;
  me_ = me;
  handlers_ = std::move(handlers);
  // A name that nobody else knows: a broker ends the connection of a client whose name comes again.
  uint64_t name = 0;
  DTNN_RETURN_IF_ERROR(FillRandom({reinterpret_cast<uint8_t*>(&name), sizeof(name)}));
  client_ =
      mosquitto_new(absl::StrFormat("dtnn-%016x", name).c_str(), /*clean_session=*/true, this);
  if (client_ == nullptr) return ResourceExhausted("MQTT: no memory for a client");
  DTNN_RETURN_IF_ERROR(Protect());
  const std::vector<uint8_t> will = MakeWill(me.rank, token_);
  mosquitto_will_set(client_, (topic_ + "/left").c_str(), int(will.size()), will.data(), kQuality,
                     /*retain=*/false);
  mosquitto_int_option(client_, MOSQ_OPT_TCP_NODELAY, 1);
  mosquitto_max_inflight_messages_set(client_, 0);
  mosquitto_reconnect_delay_set(client_, 1, 1, false);
  SetCallbacks();
  Wait wait(options);
  const std::string self = options_.self.empty() ? StrCat("rank ", me.rank) : options_.self;
  const std::string where = options_.broker.ToString();
  const auto text = [&] {
    return Wait::Text{
        .who = self,
        .what = StrCat("the MQTT broker at ", where),
        .trouble = last_,
        .advice = StrCat("is it running there, ",
                         // Why a connection with TLS fails the library does not say.
                         options_.tls ? "with TLS 1.3 and a certificate for that name, "
                                      : "without TLS (else set PYMPI_SSL=yes), ",
                         "and does no firewall stop it?")};
  };
  bool connecting = false;
  for (milliseconds pause = kPauseFirst;; pause = std::min(2 * pause, kPauseLast)) {
    if (!connecting) {
      const int error = mosquitto_connect_async(client_, options_.broker.host.c_str(),
                                                options_.broker.port, kKeepAliveSeconds);
      connecting = error == MOSQ_ERR_SUCCESS;
      const std::lock_guard lock(mutex_);
      if (!connecting) last_ = Reason(error);
      if (error == MOSQ_ERR_INVAL) {
        return InvalidArgument("MQTT: ", where, " is not an address");
      }
    }
    if (connecting && !looping_) looping_ = mosquitto_loop_start(client_) == MOSQ_ERR_SUCCESS;
    std::unique_lock lock(mutex_);
    DTNN_ASSIGN_OR_RETURN(
        const bool answered, wait.Until(Clock::now() + pause, text, [&](Clock::time_point until) {
          return changed_.wait_until(lock, until, [this] { return ready_ || !refused_.ok(); });
        }));
    if (answered && ready_) return absl::OkStatus();
    if (answered) return WithContext(refused_, self, " cannot use MQTT at ", where);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<Datagrams>> MakeMqttDatagrams(const MqttOptions& options,
                                                             const JobSecret& secret) {
  if (options.tls && !options.tls->certificate.empty()) {
    // The library would not say what is wrong with them.
    const BrokerCertificates& files = *options.tls;
    DTNN_RETURN_IF_ERROR(
        TlsStreams(
            {.certificate = files.certificate, .key = files.key, .authority = files.authority})
            .status());
  }
  DTNN_ASSIGN_OR_RETURN(std::string topic, JobTopic(secret));
  return std::make_unique<MqttDatagrams>(options, secret, std::move(topic));
}

}  // namespace dtnn
