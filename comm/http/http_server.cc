#include "comm/http/http_server.h"

#include <microhttpd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <optional>
#include <thread>
#include <utility>

#include "comm/http/admission.h"
#include "comm/http/deadlines.h"
#include "comm/http/exchange.h"
#include "comm/http/pem_files.h"
#include "tensor/errors.h"

namespace dtnn {
namespace {

using Clock = std::chrono::steady_clock;
using Exchange = HttpReply::Exchange;
using State = Deadlines::State;

constexpr char kNoMemory[] = "no memory is left for this request; try again later";
// For a body of which only the first bytes have come.
constexpr size_t kMostReserved = size_t{1} << 20;
constexpr char kVersionsOfTls[] = "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2";

// For libmicrohttpd, through which no exception may pass.
class FieldReader {
 public:
  // All of a request's; throws where there is no memory for them.
  static HttpFields Read(MHD_Connection* connection, MHD_ValueKind kind) {
    FieldReader reader;
    MHD_get_connection_values(connection, kind, &Add, &reader);
    if (!reader.complete_) throw std::bad_alloc();
    return std::move(reader.fields_);
  }

 private:
  static MHD_Result Add(void* self, MHD_ValueKind, const char* name, const char* value) {
    auto& reader = *static_cast<FieldReader*>(self);
    try {
      reader.fields_.emplace_back(name, value == nullptr ? "" : value);
    } catch (const std::bad_alloc&) {
      reader.complete_ = false;
    }
    return reader.complete_ ? MHD_YES : MHD_NO;
  }

  HttpFields fields_;
  bool complete_ = true;
};

// In place. A text ends at a zero, and the rest would be lost: %00 stays as it is.
size_t Unescape(void*, MHD_Connection*, char* text) {
  char* to = text;
  for (char *from = text, *zero = text; zero != nullptr; from = zero + 3) {
    zero = strstr(from, "%00");
    if (zero != nullptr) *zero = '\0';
    const size_t size = MHD_http_unescape(from);
    memmove(to, from, size);
    to += size;
    if (zero == nullptr) break;
    memcpy(to, "%00", 3);
    to += 3;
  }
  *to = '\0';
  return size_t(to - text);
}

void DeleteString(void* text) { delete static_cast<std::string*>(text); }

}  // namespace

HttpReply::~HttpReply() {
  if (exchange_ == nullptr) return;
  // Which exception it is cannot be asked here; those of handlers come from want of memory.
  const bool memory = std::uncaught_exceptions() > 0;
  try {
    Send(memory ? HttpBusy(kNoMemory) : HttpError(500, "a defect of the server"));
  } catch (const std::bad_alloc&) {
    Send({.code = 503, .type = {}});  // which needs none
  }
}

void HttpReply::Send(HttpAnswer answer) {
  Exchange* const exchange = std::exchange(exchange_, nullptr);
  exchange->answer = std::move(answer);
  exchange->answered = true;
  // Not by its member, which may end with the exchange before the call does.
  const std::function<void()> resume = std::move(exchange->resume);
  resume();
}

class HttpServer::Daemon {
 public:
  Daemon(HttpServerOptions options, Handler handler)
      : options_(std::move(options)), handler_(std::move(handler)), deadlines_(options_.patience) {}

  ~Daemon() { Stop(std::chrono::milliseconds(0)); }

  absl::Status Start() {
    DTNN_ASSIGN_OR_RETURN(Socket listener, options_.listener >= 0 ? AdoptListener(options_.listener)
                                                                  : Listen(options_.address));
    DTNN_ASSIGN_OR_RETURN(admission_, Admission::Create(options_));
    DTNN_ASSIGN_OR_RETURN(address_, listener.Local());
    std::vector<MHD_OptionItem> items = {
        {MHD_OPTION_CONNECTION_LIMIT, options_.connections, nullptr},
        {MHD_OPTION_PER_IP_CONNECTION_LIMIT, options_.address_connections, nullptr},
        {MHD_OPTION_CONNECTION_MEMORY_LIMIT, intptr_t(options_.header_bytes), nullptr},
        {MHD_OPTION_LISTEN_SOCKET, listener.descriptor(), nullptr},
        {MHD_OPTION_UNESCAPE_CALLBACK, intptr_t(&Unescape), nullptr},
        {MHD_OPTION_NOTIFY_COMPLETED, intptr_t(&Completed), this},
        {MHD_OPTION_NOTIFY_CONNECTION, intptr_t(&Notice), this}};
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    PemFiles pem;
    if (!options_.certificate_file.empty()) {
      flags |= MHD_USE_TLS;
      DTNN_ASSIGN_OR_RETURN(pem, PemFiles::Read(options_));
      items.push_back({MHD_OPTION_HTTPS_MEM_CERT, 0, pem.certificate.data()});
      items.push_back({MHD_OPTION_HTTPS_MEM_KEY, 0, pem.key.data()});
      items.push_back({MHD_OPTION_HTTPS_PRIORITIES, 0, const_cast<char*>(kVersionsOfTls)});
    }
    items.push_back({MHD_OPTION_END, 0, nullptr});
    daemon_ =
        MHD_start_daemon(flags, 0, nullptr, nullptr, &Handle, this, MHD_OPTION_EXTERNAL_LOGGER,
                         &Log, this, MHD_OPTION_ARRAY, items.data(), MHD_OPTION_END);
    if (daemon_ == nullptr) {
      std::string reason = Reason();
      if (options_.certificate_file.empty()) {
        return Unavailable("cannot serve at ", address_.ToString(), ": ", reason);
      }
      return InvalidArgument("cannot serve by TLS with ", options_.certificate_file, " and ",
                             options_.key_file, ": ", reason,
                             "; expected a certificate and its key, in PEM form");
    }
    listener.Release();
    for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
    return absl::OkStatus();
  }

  const Endpoint& address() const { return address_; }

  bool Stop(std::chrono::milliseconds limit) {
    if (daemon_ == nullptr) return true;
    const auto end = Clock::now() + limit;
    closing_ = true;
    const int listener = MHD_quiesce_daemon(daemon_);
    if (listener >= 0) close(listener);
    deadlines_.EndIdle();
    const bool all = deadlines_.AwaitNone(end);
    // A suspended connection cannot be stopped: its answer comes first.
    while (!deadlines_.AwaitNone(Clock::now() + std::chrono::milliseconds(20))) deadlines_.EndAll();
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    passed_.notify_all();
    for (std::thread& worker : workers_) worker.join();
    {
      std::unique_lock lock(mutex_);
      resumed_.wait(lock, [this] { return resuming_ == 0; });
    }
    MHD_stop_daemon(std::exchange(daemon_, nullptr));
    return all;
  }

 private:
  // libmicrohttpd's callbacks, on its thread, from which no exception may come.

  static void Log(void* self, const char* format, va_list arguments) {
    Daemon& daemon = *static_cast<Daemon*>(self);
    const std::lock_guard lock(daemon.mutex_);
    vsnprintf(daemon.reason_.data(), daemon.reason_.size(), format, arguments);
  }

  static void Notice(void* self, MHD_Connection* connection, void** context,
                     MHD_ConnectionNotificationCode code) {
    Deadlines& deadlines = static_cast<Daemon*>(self)->deadlines_;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
      *context = deadlines.Add(
          MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd);
    } else {
      deadlines.Remove(static_cast<Deadlines::Connection*>(*context));
    }
  }

  static void Completed(void* self, MHD_Connection*, void** context, MHD_RequestTerminationCode) {
    Daemon& daemon = *static_cast<Daemon*>(self);
    auto* const exchange = static_cast<Exchange*>(*context);
    if (exchange == nullptr) return;
    daemon.deadlines_.Enter(exchange->deadline, State::kNextRequest);
    daemon.all_body_bytes_ -= exchange->kept;
    delete exchange;
    *context = nullptr;
  }

  static MHD_Result Handle(void* self, MHD_Connection* connection, const char* url,
                           const char* method, const char* version, const char* data, size_t* size,
                           void** context) {
    Daemon& daemon = *static_cast<Daemon*>(self);
    try {
      if (*context == nullptr) {
        return daemon.Begin(connection, url, method, version, context);
      }
      Exchange& exchange = *static_cast<Exchange*>(*context);
      if (*size > 0) {
        const MHD_Result more = daemon.Take({data, *size}, exchange);
        *size = 0;
        return more;
      }
      return exchange.answered ? daemon.Write(exchange) : daemon.Pass(exchange);
    } catch (...) {
      return MHD_NO;  // ends the connection
    }
  }

  // The headers are there.
  MHD_Result Begin(MHD_Connection* connection, const char* url, const char* method,
                   const char* version, void** context) {
    auto* const exchange = new Exchange;
    *context = exchange;
    exchange->connection = connection;
    exchange->began = Clock::now();
    exchange->deadline = static_cast<Deadlines::Connection*>(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context);
    deadlines_.Enter(exchange->deadline, State::kBody);
    HttpRequest& request = exchange->request;
    request.method = std::string_view(method) == MHD_HTTP_METHOD_HEAD ? "GET" : method;
    request.path = url;
    request.headers = FieldReader::Read(connection, MHD_HEADER_KIND);
    request.query = FieldReader::Read(connection, MHD_GET_ARGUMENT_KIND);
    std::optional<HttpAnswer> refusal = admission_->Refusal(request, version);
    if (!refusal) {
      exchange->declared = DeclaredLength(request).value_or(0);
      return MHD_YES;
    }
    exchange->answer = *std::move(refusal);
    exchange->answered = true;
    return admission_->AtOnce(request, exchange->answer) ? Write(*exchange) : MHD_YES;
  }

  MHD_Result Take(std::string_view bytes, Exchange& exchange) {
    exchange.received += bytes.size();
    // In memory from the first byte on.
    const size_t held = std::max(exchange.received, std::min(exchange.declared, kMostReserved));
    std::string& body = exchange.request.body;
    if (!exchange.answered && exchange.received > options_.body_bytes) {
      exchange.answer = admission_->TooLarge();
      exchange.answered = true;
    } else if (!exchange.answered &&
               all_body_bytes_ + held - exchange.kept > options_.all_body_bytes) {
      exchange.answer = HttpBusy(StrCat("the bodies of all requests have more than the limit of ",
                                        options_.all_body_bytes, " bytes; try again later"));
      exchange.answered = true;
    }
    if (!exchange.answered && !Append(bytes, held, body)) {
      exchange.answer = HttpBusy(kNoMemory);
      exchange.answered = true;
    }
    if (exchange.answered) {
      all_body_bytes_ -= std::exchange(exchange.kept, 0);
      body = std::string();
      return exchange.received > admission_->MostDiscarded() ? MHD_NO : MHD_YES;
    }
    all_body_bytes_ += held - std::exchange(exchange.kept, held);
    return MHD_YES;
  }

  // False where there is no memory for them. `held`: bytes for which there is room from the first.
  static bool Append(std::string_view bytes, size_t held, std::string& body) {
    try {
      if (body.empty()) body.reserve(held);
      body.append(bytes);
      return true;
    } catch (const std::bad_alloc&) {
      return false;
    }
  }

  // The request is whole. Nothing of it may be used here afterwards.
  MHD_Result Pass(Exchange& exchange) {
    const bool brief = options_.brief && options_.brief(exchange.request);  // it may throw
    deadlines_.Enter(exchange.deadline, State::kOwnAnswer);
    exchange.resume = [this, connection = exchange.connection] {
      {
        const std::lock_guard lock(mutex_);
        ++resuming_;
      }
      MHD_resume_connection(connection);
      const std::lock_guard lock(mutex_);
      if (--resuming_ == 0) resumed_.notify_all();
    };
    // From here on nothing may throw: only an answer ends a suspended connection.
    MHD_suspend_connection(exchange.connection);
    if (brief) {
      Run(exchange);
      return MHD_YES;
    }
    try {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(&exchange);
    } catch (const std::bad_alloc&) {
      HttpReply(&exchange).Send({.code = 503, .type = {}});  // which needs none
      return MHD_YES;
    }
    passed_.notify_one();
    return MHD_YES;
  }

  MHD_Result Write(Exchange& exchange) {
    HttpAnswer& answer = exchange.answer;
    const size_t size = answer.body.size();
    auto* const body = new std::string(std::move(answer.body));
    MHD_Response* const response = MHD_create_response_from_buffer_with_free_callback_cls(
        size, body->data(), &DeleteString, body);
    if (response == nullptr) {
      delete body;
      return MHD_NO;
    }
    MHD_add_response_header(response, "Content-Type", answer.type.c_str());
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    for (const auto& [name, value] : answer.headers) {
      MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    if (closing_) MHD_add_response_header(response, "Connection", "close");
    deadlines_.Enter(exchange.deadline, State::kReader);
    const MHD_Result queued =
        MHD_queue_response(exchange.connection, unsigned(answer.code), response);
    MHD_destroy_response(response);
    if (options_.on_answer) {
      options_.on_answer(exchange.request, answer.code, Clock::now() - exchange.began);
    }
    return queued;
  }

  // A thread that runs the handler.
  void Work() {
    while (true) {
      std::unique_lock lock(mutex_);
      passed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
      if (waiting_.empty()) return;
      Exchange* const exchange = waiting_.front();
      waiting_.pop_front();
      lock.unlock();
      Run(*exchange);
    }
  }

  void Run(Exchange& exchange) {
    try {
      handler_(exchange.request, HttpReply(&exchange));
    } catch (...) {  // the reply says so
    }
  }

  std::string Reason() {
    const std::lock_guard lock(mutex_);
    const std::string_view reason = reason_.data(), line = reason.substr(0, reason.find('\n'));
    return line.empty() ? "libmicrohttpd does not start" : std::string(line);
  }

  HttpServerOptions options_;
  const Handler handler_;
  std::optional<Admission> admission_;
  Endpoint address_;
  Deadlines deadlines_;
  std::atomic<size_t> all_body_bytes_ = 0;
  std::atomic<bool> closing_ = false;
  MHD_Daemon* daemon_ = nullptr;

  std::mutex mutex_;
  std::condition_variable passed_;   // to a worker, or no more will be
  std::deque<Exchange*> waiting_;    // for a worker
  std::condition_variable resumed_;  // all of them
  int resuming_ = 0;                 // threads that tell libmicrohttpd of an answer
  bool ending_ = false;
  std::array<char, 512> reason_ = {};
  std::vector<std::thread> workers_;
};

HttpServer::HttpServer(std::unique_ptr<Daemon> daemon) : daemon_(std::move(daemon)) {}
HttpServer::~HttpServer() = default;

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options,
                                                              Handler handler) {
  auto daemon = std::make_unique<Daemon>(std::move(options), std::move(handler));
  DTNN_RETURN_IF_ERROR(daemon->Start());
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(daemon)));
}

const Endpoint& HttpServer::address() const { return daemon_->address(); }

bool HttpServer::Stop(std::chrono::milliseconds limit) { return daemon_->Stop(limit); }

}  // namespace dtnn
