#include "comm/transport/grpc/grpc_datagrams.h"

#include <dlfcn.h>
#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <iterator>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "comm/secrets/crypto/job_secret.h"
#include "comm/transport/grpc/grpc_secret.h"
#include "comm/transport/grpc/switchboard.grpc.pb.h"
#include "comm/transport/tcp/socket.h"
#include "comm/transport/tls/testing/host_files.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"
#include "tools/testing/descriptors.h"

namespace dtnn {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

// Run by a thread when it has started another one, or, once, released a mutex.
thread_local std::function<void()> after_thread_start;
thread_local std::function<void()>* after_unlock = nullptr;

}  // namespace
}  // namespace dtnn

// Stand in for the C library's in this program.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                              void* (*run)(void*), void* argument) {
  static const auto create =
      reinterpret_cast<decltype(&pthread_create)>(dlsym(RTLD_NEXT, "pthread_create"));
  const int error = create(thread, attributes, run, argument);
  if (dtnn::after_thread_start) dtnn::after_thread_start();
  return error;
}
extern "C" int pthread_mutex_unlock(pthread_mutex_t* mutex) {
  static const auto unlock =
      reinterpret_cast<decltype(&pthread_mutex_unlock)>(dlsym(RTLD_NEXT, "pthread_mutex_unlock"));
  const int error = unlock(mutex);
  if (auto* const then = std::exchange(dtnn::after_unlock, nullptr)) (*then)();
  return error;
}

namespace dtnn {
namespace {

// One rank, and what it has heard.
class Rank {
 public:
  using Heard = std::function<void(Datagrams&, std::string_view)>;
  using Cut = std::function<void(const absl::Status&)>;

  Rank(
      const GrpcOptions& options, int rank, const Heard& heard = {},
      Cut cut = [](const absl::Status&) {})
      : datagrams_(Must(MakeGrpcDatagrams(options, Must(JobSecret::Of(std::string(40, 's')))))) {
    CommunicatorOptions patience;
    patience.timeout = std::chrono::minutes(1);
    Must(datagrams_->Open({.rank = rank, .number = uint64_t(rank) + 1},
                          {.received =
                               [this, heard](std::string_view bytes) {
                                 if (heard) heard(*datagrams_, bytes);
                                 const std::lock_guard lock(mutex_);
                                 heard_.emplace_back(bytes);
                                 changed_.notify_all();
                               },
                           .left =
                               [this](const Instance& who) {
                                 const std::lock_guard lock(mutex_);
                                 left_.push_back(who);
                                 changed_.notify_all();
                               },
                           .cut =
                               [this, cut](const absl::Status& why) {
                                 cut(why);
                                 const std::lock_guard lock(mutex_);
                                 cut_ = true;
                                 changed_.notify_all();
                               }},
                          patience));
  }
  void Send(int to, const std::string& bytes) { datagrams_->Send(to, bytes); }
  void Flush() { datagrams_->Flush(std::chrono::steady_clock::now() + std::chrono::minutes(1)); }
  // All up to that one, or to the end of the connection, or in half a minute.
  std::vector<std::string> HearUntil(const std::string& last) {
    std::unique_lock lock(mutex_);
    const auto is_over = [&] { return cut_ || (!heard_.empty() && heard_.back() == last); };
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), is_over));
    return heard_;
  }
  // The first other process that has ended.
  std::optional<Instance> WhoLeft() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::minutes(1), [&] { return !left_.empty(); });
    return left_.empty() ? std::nullopt : std::optional(left_.front());
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> heard_;
  std::vector<Instance> left_;
  bool cut_ = false;
  const std::unique_ptr<Datagrams> datagrams_;  // the first to go: its threads use the others
};

// What ranks 0 and 2 have heard when rank 1 has spoken to both, and rank 0 to rank 2 after it.
std::pair<std::vector<std::string>, std::vector<std::string>> Heard(bool only_with_rank_0) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 3,
             .only_with_rank_0 = only_with_rank_0,
             .address = address,
             .listener = listener.Release()},
            0);
  Rank one({.size = 3, .address = address}, 1), two({.size = 3, .address = address}, 2);
  one.Send(2, "to 2");
  one.Send(0, "to 0");
  const std::vector<std::string> of_zero = zero.HearUntil("to 0");
  zero.Send(2, "end");
  return {of_zero, two.HearUntil("end")};
}

TEST(GrpcDatagramsTest, RanksReachEachOther) {
  const auto [zero, two] = Heard(false);
  EXPECT_THAT(zero, ElementsAre("to 0"));
  EXPECT_THAT(two, ElementsAre("to 2", "end"));
}

// Nobody can fill the memory of rank 0 with messages for others.
TEST(GrpcDatagramsTest, WhereTheyNeedNotTheyDoNot) {
  const auto [zero, two] = Heard(true);
  EXPECT_THAT(zero, ElementsAre("to 0"));
  EXPECT_THAT(two, ElementsAre("end"));
}

// In every direction, also through rank 0.
TEST(GrpcDatagramsTest, TheLongestMessageArrives) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 3, .address = address, .listener = listener.Release()}, 0);
  Rank one({.size = 3, .address = address}, 1), two({.size = 3, .address = address}, 2);
  const std::string longest(Datagrams::kMostBytes, 'x');
  one.Send(0, longest);
  EXPECT_THAT(zero.HearUntil(longest), ElementsAre(longest));
  one.Send(2, longest);
  EXPECT_THAT(two.HearUntil(longest), ElementsAre(longest));
  zero.Send(1, longest);
  EXPECT_THAT(one.HearUntil(longest), ElementsAre(longest));
}

// An envelope has 1024 bytes for what is around a message. Rank 0 takes no longer one, since it
// would have to hold it; nor do the others from rank 0.
TEST(GrpcDatagramsTest, ALongerEnvelopeEndsTheConnectionOfTheRankThatSendsIt) {
  for (const int sender : {1, 0}) {
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    const Endpoint address = Must(listener.Local());
    Rank zero({.size = 3, .address = address, .listener = listener.Release()}, 0);
    Rank one({.size = 3, .address = address}, 1), two({.size = 3, .address = address}, 2);
    const std::string longer(Datagrams::kMostBytes + 1025, 'x');
    (sender == 0 ? zero : one).Send(1 - sender, longer);
    EXPECT_THAT(one.HearUntil("nothing"), IsEmpty()) << "until its connection is cut";
    zero.Send(2, "still here");
    EXPECT_THAT(two.HearUntil("still here"), ElementsAre("still here"));
  }
}

TEST(GrpcDatagramsTest, AllOthersHearWhoLeaves) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 3, .address = address, .listener = listener.Release()}, 0);
  auto one = std::make_unique<Rank>(GrpcOptions{.size = 3, .address = address}, 1);
  Rank two({.size = 3, .address = address}, 2);
  one = nullptr;
  for (Rank* const rank : {&zero, &two}) {
    const std::optional<Instance> who = rank->WhoLeft();
    ASSERT_TRUE(who.has_value()) << (rank == &zero ? "rank 0" : "rank 2");
    EXPECT_EQ(who->rank, 1);
    EXPECT_EQ(who->number, 2u);
  }
}

// A server that takes calls, and says nothing until the caller is gone.
class SilentServer : public proto::Switchboard::Service {
 public:
  grpc::Status Join(grpc::ServerContext*,
                    grpc::ServerReaderWriter<proto::Envelope, proto::Envelope>* caller) override {
    proto::Envelope ignored;
    while (caller->Read(&ignored)) {
    }
    return grpc::Status::OK;
  }
};

// One whose first message is not one that a switchboard sends.
class SenselessServer : public SilentServer {
  grpc::Status Join(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<proto::Envelope, proto::Envelope>* caller) override {
    caller->Write(proto::Envelope());
    return SilentServer::Join(context, caller);
  }
};

// What a rank gets that joins such a server.
absl::Status JoinOf(proto::Switchboard::Service& service, std::chrono::milliseconds timeout) {
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::InternalError("no server");
  const auto datagrams =
      Must(MakeGrpcDatagrams({.size = 2, .address = {.host = "127.0.0.1", .port = uint16_t(port)}},
                             Must(JobSecret::Of(std::string(40, 's')))));
  CommunicatorOptions patience;
  patience.timeout = timeout;
  return datagrams->Open({.rank = 1, .number = 1}, {}, patience);
}

TEST(GrpcDatagramsTest, AServerThatSaysNothingKeepsNobodyWhoGivesUp) {
  SilentServer service;
  EXPECT_EQ(JoinOf(service, std::chrono::milliseconds(200)).code(),
            absl::StatusCode::kDeadlineExceeded);
}

TEST(GrpcDatagramsTest, AServerThatMakesNoSenseIsNotAskedAgain) {
  SenselessServer service;
  const absl::Status status = JoinOf(service, std::chrono::minutes(1));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("says what no switchboard says"));
}

// Rank 0 may be the first to know that a job is over.
TEST(GrpcDatagramsTest, TheOthersReachEachOtherWhileRankZeroEnds) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  auto zero = std::make_unique<Rank>(
      GrpcOptions{.size = 3, .address = address, .listener = listener.Release()}, 0);
  std::atomic<bool> cut = false;
  const auto lose = [&](const absl::Status&) { cut = true; };
  auto one =
      std::make_unique<Rank>(GrpcOptions{.size = 3, .address = address}, 1, Rank::Heard{}, lose);
  const auto answer = [](Datagrams& datagrams, std::string_view bytes) {
    datagrams.Send(1, std::string(bytes));
  };
  auto two = std::make_unique<Rank>(GrpcOptions{.size = 3, .address = address}, 2, answer);
  std::thread end([&] { zero = nullptr; });
  // Rank 0 waits half a second for them. On a busy machine 200 answers may take longer.
  const auto enough = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  for (int i = 0; i < 200 && !cut && std::chrono::steady_clock::now() < enough; ++i) {
    one->Send(2, std::to_string(i));
    one->HearUntil(std::to_string(i));
  }
  EXPECT_FALSE(cut);
  one = nullptr;
  two = nullptr;
  end.join();
}

// Also with the job's secret, and while the first one lives.
TEST(GrpcDatagramsTest, APlaceIsTakenOnceAndOnlyOneThatThereIs) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 3, .address = address, .listener = listener.Release()}, 0);
  Rank one({.size = 3, .address = address}, 1);
  for (const auto& [rank, why] : {std::pair(1, "another process has joined it as rank 1"),
                                  std::pair(3, "there are 3 ranks")}) {
    const auto second = Must(MakeGrpcDatagrams({.size = 9, .address = address},
                                               Must(JobSecret::Of(std::string(40, 's')))));
    CommunicatorOptions patience;
    patience.timeout = std::chrono::minutes(1);
    const absl::Status status = second->Open({.rank = rank, .number = 99},
                                             {.received = [](std::string_view) {},
                                              .left = [](const Instance&) {},
                                              .cut = [](const absl::Status&) {}},
                                             patience);
    ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(why));
  }
  zero.Send(1, "still you");
  EXPECT_THAT(one.HearUntil("still you"), ElementsAre("still you"));
}

// A rank that was drawn says nothing to people: in a federation messages name the client.
TEST(GrpcDatagramsTest, MessagesCallEachEndAsTheyAreTold) {
  const auto timed_out = [](const std::string& self, const std::string& server) {
    GrpcOptions options;
    options.self = self, options.server = server;
    // Free now, so the connection is refused there.
    options.address = Must(Must(Listen({.host = "127.0.0.1", .port = 0})).Local());
    options.size = 9;
    const auto datagrams =
        Must(MakeGrpcDatagrams(options, Must(JobSecret::Of(std::string(40, 's')))));
    CommunicatorOptions patience;
    patience.timeout = std::chrono::milliseconds(1);
    const absl::Status status = datagrams->Open({.rank = 7, .number = 1}, {}, patience);
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    return std::string(status.message());
  };
  EXPECT_THAT(timed_out("", ""),
              AllOf(StartsWith("rank 7 has waited "), HasSubstr(" for rank 0 at ")));
  const std::string told = timed_out("client north", "the aggregator");
  EXPECT_THAT(told, StartsWith("client north has waited "));
  EXPECT_THAT(told, HasSubstr(" for the aggregator at 127.0.0.1:"));
  EXPECT_THAT(told, Not(HasSubstr("rank ")));
}

// Also during Open, which continues here only when the answer is on its way, or after 0.2 s.
TEST(GrpcDatagramsTest, RankZeroAnswersAtOnce) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  std::vector<std::string> heard;
  std::thread calling([&] {
    Rank one({.size = 2, .address = address}, 1);
    one.Send(0, "answer");
    heard = one.HearUntil("at once");
  });
  std::promise<void> answer;
  const std::shared_future<void> answered = answer.get_future().share();
  after_thread_start = [&] { answered.wait_for(std::chrono::milliseconds(200)); };
  const Rank zero({.size = 2, .address = address, .listener = listener.Release()}, 0,
                  [&](Datagrams& datagrams, std::string_view) {
                    datagrams.Send(1, "at once");
                    answer.set_value();
                  });
  after_thread_start = nullptr;
  calling.join();
  EXPECT_THAT(heard, ElementsAre("at once"));
}

// The thread that accepts connections could never be ended.
TEST(GrpcDatagramsTest, WithoutADescriptorToWakeItsThreadRankZeroDoesNotServe) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  const auto zero =
      Must(MakeGrpcDatagrams({.size = 2, .address = address, .listener = listener.Release()},
                             Must(JobSecret::Of(std::string(40, 's')))));
  std::optional<testing::NoNewDescriptors> none(std::in_place);
  const absl::Status status = zero->Open({.rank = 0, .number = 1}, {}, {});
  none.reset();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("Too many open files"));
}

// A process that is nobody's rank, with a connection of its own.
struct Caller {
  Caller(const Endpoint& address, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
    grpc::ChannelArguments own_connection;
    own_connection.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    stub = proto::Switchboard::NewStub(
        grpc::CreateCustomChannel(address.ToString(), credentials, own_connection));
    call = stub->Join(&context);
  }
  ~Caller() {
    context.TryCancel();
    call->Finish();
  }

  // Whether the server says anything to it.
  bool IsHeard() {
    proto::Envelope envelope;
    return call->Read(&envelope);
  }

  std::unique_ptr<proto::Switchboard::Stub> stub;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<proto::Envelope, proto::Envelope>> call;
};

bool IsOpen(const Socket& connection) {
  std::array<char, 256> ignored;
  ssize_t n = 1;
  while (n > 0) n = recv(connection.descriptor(), ignored.data(), ignored.size(), MSG_DONTWAIT);
  return n < 0 && errno == EAGAIN;
}

constexpr size_t kPlaces = 128;

// Grants keep a slow rank's queue at rank 0 within a window. One who sends more than it was granted
// fills no memory: the rest is dropped, and the slow rank gets all that it had room for.
TEST(GrpcDatagramsTest, WhatASlowRankDoesNotReadIsBounded) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 2, .address = address, .listener = listener.Release()}, 0);
  Caller slow(address, grpc::InsecureChannelCredentials());
  proto::Envelope envelope, joining;
  ASSERT_TRUE(slow.call->Read(&envelope));
  joining.mutable_joining()->mutable_instance()->set_rank(1);
  joining.mutable_joining()->mutable_instance()->set_number(2);
  joining.mutable_joining()->set_proof(Must(ProveToServer(
      Must(JobSecret::Of(std::string(40, 's'))), {.rank = 1, .number = 2}, envelope.nonce())));
  ASSERT_TRUE(slow.call->Write(joining));
  ASSERT_TRUE(slow.call->Read(&envelope));
  ASSERT_TRUE(envelope.has_joined());
  const std::string longest(Datagrams::kMostBytes, 'x');
  constexpr size_t kSent = 400;  // 100 MiB
  for (size_t i = 0; i < kSent; ++i) zero.Send(1, longest);
  size_t read = 0;
  std::thread reading([&] {
    for (; slow.call->Read(&envelope) && envelope.packet() != "end"; ++read) continue;
  });
  zero.Flush();
  zero.Send(1, "end");
  reading.join();
  EXPECT_EQ(envelope.packet(), "end");
  EXPECT_GE(read, (size_t{4} << 20) / longest.size());
  EXPECT_LT(read, kSent / 2);
}

// As many as come, with calls that prove nothing and without a call: 128 have a place, and a rank
// from the same address gets one all the same.
TEST(GrpcDatagramsTest, ConnectionsThatProveNothingKeepNobodyOut) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 2, .address = address, .listener = listener.Release()}, 0);
  std::list<Caller> callers;
  for (size_t i = 0; i < kPlaces / 2; ++i) {
    EXPECT_TRUE(callers.emplace_back(address, grpc::InsecureChannelCredentials()).IsHeard());
  }
  std::vector<Socket> silent;
  for (size_t i = 0; i < 2 * kPlaces; ++i) {
    silent.push_back(Must(StartConnecting(Must(Resolve(address)).front())));
    pollfd connected = {silent.back().descriptor(), POLLOUT, 0};
    ASSERT_EQ(poll(&connected, 1, -1), 1);
  }
  Rank one({.size = 2, .address = address}, 1);
  one.Send(0, "here");
  EXPECT_THAT(zero.HearUntil("here"), ElementsAre("here"));
  while (std::ranges::count_if(silent, IsOpen) > ptrdiff_t(kPlaces)) std::this_thread::yield();
}

TEST(GrpcDatagramsTest, ACallerThatHasNotJoinedIsNotHeard) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 2, .address = address, .listener = listener.Release()}, 0);
  Caller stranger(address, grpc::InsecureChannelCredentials());
  EXPECT_TRUE(stranger.IsHeard());  // what it is to prove
  proto::Envelope envelope;
  envelope.set_to(0);
  envelope.set_packet("let me in");
  EXPECT_TRUE(stranger.call->Write(envelope));
  Rank one({.size = 2, .address = address}, 1);
  one.Send(0, "here");
  EXPECT_THAT(zero.HearUntil("here"), ElementsAre("here"));
}

// Also of IPv6, and of IPv4 where rank 0 listens at all addresses: a rank is known by the address
// that gRPC names, and stays when its connection is not new any more.
TEST(GrpcDatagramsTest, ARankKeepsItsPlaceWhateverItsAddress) {
  for (const auto& [listens, calls] :
       {std::pair("127.0.0.1", "127.0.0.1"), std::pair("", "127.0.0.1"), std::pair("::1", "::1")}) {
    absl::StatusOr<Socket> listener = Listen({.host = listens, .port = 0});
    if (!listener.ok()) {
      std::cout << "skipped: " << listens << ": " << listener.status() << "\n";
      continue;
    }
    const Endpoint address = {.host = calls, .port = Must(listener->Local()).port};
    Rank zero({.size = 2, .address = address, .listener = listener->Release()}, 0);
    Rank one({.size = 2, .address = address}, 1);
    // More than there are places for.
    std::vector<Socket> silent;
    for (size_t i = 0; i < 2 * kPlaces; ++i) {
      silent.push_back(Must(StartConnecting(Must(Resolve(address)).front())));
      pollfd connected = {silent.back().descriptor(), POLLOUT, 0};
      ASSERT_EQ(poll(&connected, 1, -1), 1);
    }
    while (std::ranges::count_if(silent, IsOpen) > ptrdiff_t(kPlaces)) std::this_thread::yield();
    one.Send(0, "still here");
    EXPECT_THAT(zero.HearUntil("still here"), ElementsAre("still here"));
  }
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::shared_ptr<grpc::ChannelCredentials> Tls(const TlsFiles& files, const TlsFiles* shows) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = TextOf(files.authority);
  if (shows != nullptr) {
    options.pem_private_key = TextOf(shows->key);
    options.pem_cert_chain = TextOf(shows->certificate);
  }
  return grpc::SslCredentials(options);
}

std::string Folder(const std::string& name) {
  const std::string folder = ::testing::TempDir() + "/" + name;
  std::filesystem::create_directories(folder);
  return folder;
}

TEST(GrpcDatagramsTest, CallersWithoutACertificateOfTheAuthorityAreRefused) {
  const TlsFiles ours = testing::WriteHostFiles(Folder("ours"));
  const TlsFiles foreign = testing::WriteHostFiles(Folder("foreign"));
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  const Rank zero({.size = 2, .address = address, .listener = listener.Release(), .tls = ours}, 0);
  EXPECT_TRUE(Caller(address, Tls(ours, &ours)).IsHeard());
  EXPECT_FALSE(Caller(address, Tls(ours, nullptr)).IsHeard());
  EXPECT_FALSE(Caller(address, Tls(ours, &foreign)).IsHeard());
  EXPECT_FALSE(Caller(address, grpc::InsecureChannelCredentials()).IsHeard());
}

TEST(GrpcDatagramsTest, WithinOneHostACertificateForLocalhostIsEnough) {
  const TlsFiles local = testing::WriteHostFiles(Folder("local"), "host", {"localhost"});
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  Rank zero({.size = 2, .address = address, .listener = listener.Release(), .tls = local}, 0);
  Rank one({.size = 2, .address = address, .tls = local}, 1);
  one.Send(0, "here");
  EXPECT_THAT(zero.HearUntil("here"), ElementsAre("here"));
}

TEST(GrpcDatagramsTest, AServerWithoutACertificateOfTheAuthorityForItsNameIsRefused) {
  const TlsFiles ours = testing::WriteHostFiles(Folder("ours"));
  const TlsFiles foreign = testing::WriteHostFiles(Folder("foreign"));
  const TlsFiles elsewhere =
      testing::WriteHostFiles(Folder("elsewhere"), "host", {"node2.example", "10.0.0.7"});
  const auto refused_by = [](const TlsFiles& server, const TlsFiles& caller) {
    Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
    const Endpoint address = Must(listener.Local());
    const Rank zero({.size = 2, .address = address, .listener = listener.Release(), .tls = server},
                    0);
    const auto one = Must(MakeGrpcDatagrams({.size = 2, .address = address, .tls = caller},
                                            Must(JobSecret::Of(std::string(40, 's')))));
    return one->Open({.rank = 1, .number = 2}, {}, {.timeout = std::chrono::milliseconds(500)})
        .code();
  };
  constexpr absl::StatusCode kRefused = absl::StatusCode::kDeadlineExceeded;
  TlsFiles trusts_ours = foreign;  // so that only the caller can refuse
  trusts_ours.authority = ours.authority;
  EXPECT_EQ(refused_by(trusts_ours, ours), kRefused);
  EXPECT_EQ(refused_by(elsewhere, elsewhere), kRefused);
}

TEST(GrpcDatagramsTest, AKeyOfAnotherCertificateIsNamedAtOnce) {
  const std::string folder = ::testing::TempDir() + "/", key = folder + "other.key";
  const TlsFiles mine = testing::WriteHostFiles(folder, "mine");
  testing::WriteHostFiles(folder, "other");
  GrpcOptions options;
  options.tls = {.certificate = mine.certificate, .key = key, .authority = mine.authority};
  const absl::Status status =
      MakeGrpcDatagrams(options, Must(JobSecret::Of(std::string(40, 's')))).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr(key + ": is not a private key"));
}

TEST(GrpcDatagramsTest, WhereTlsFailsItIsAskedFor) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  const Rank plain({.size = 2, .address = address, .listener = listener.Release()}, 0);
  GrpcOptions options = {.size = 2, .address = address};
  options.tls = testing::WriteHostFiles(::testing::TempDir(), "caller");
  const auto caller = Must(MakeGrpcDatagrams(options, Must(JobSecret::Of(std::string(40, 's')))));
  const absl::Status status =
      caller->Open({.rank = 1, .number = 2}, {}, {.timeout = std::chrono::milliseconds(500)});
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("with TLS and a certificate of the same"));
}

// gRPC's threads may have something to do when the last of its objects here is gone. Here a thread
// of the test does, for a moment: a process that leaves main after the datagrams must not meet it.
TEST(GrpcDatagramsTest, WhenTheLastDatagramsAreGoneGrpcHasEnded) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  auto zero = std::make_unique<Rank>(
      GrpcOptions{.size = 2, .address = address, .listener = listener.Release()}, 0);
  auto one = std::make_unique<Rank>(GrpcOptions{.size = 2, .address = address}, 1);
  grpc_init();
  std::promise<void> nothing;
  std::atomic<bool> busy = true;
  std::thread late([&] {
    nothing.get_future().wait_for(std::chrono::milliseconds(50));
    busy = false;
    grpc_shutdown();
  });
  one = nullptr;
  zero = nullptr;
  EXPECT_FALSE(busy);
  EXPECT_EQ(grpc_is_initialized(), 0);
  late.join();
}

// Here it goes in the middle of Send, which would use a call that is over.
TEST(GrpcDatagramsTest, WhoSendsWhileTheServerGoesIsNotCutOffBefore) {
  Socket listener = Must(Listen({.host = "127.0.0.1", .port = 0}));
  const Endpoint address = Must(listener.Local());
  auto zero = std::make_unique<Rank>(
      GrpcOptions{.size = 2, .address = address, .listener = listener.Release()}, 0);
  std::promise<void> cut;
  std::future<void> is_cut = cut.get_future();
  Rank one({.size = 2, .address = address}, 1, {}, [&](const absl::Status&) { cut.set_value(); });
  bool early = false;
  std::function<void()> lose_server = [&] {
    zero = nullptr;
    early = is_cut.wait_for(std::chrono::milliseconds(200)) == std::future_status::ready;
  };
  one.Flush();
  after_unlock = &lose_server;
  one.Send(0, "late");
  EXPECT_EQ(zero, nullptr);
  EXPECT_FALSE(early);
  is_cut.wait();
}

}  // namespace
}  // namespace dtnn
