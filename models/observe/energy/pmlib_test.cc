// Against a server of our own that speaks the protocol, and others that do not.

#include "models/observe/energy/pmlib.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/stopwatch.h"

namespace dtnn {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Bytes(const std::vector<int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(int32_t)};
}
std::string Bytes(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

// What a server answers to an operation, or nothing: it closes the connection.
using Answer = std::function<std::string(int32_t operation)>;

class Server {
 public:
  // `piece`: how many bytes it sends at once.
  explicit Server(Answer answer, size_t piece = 1 << 20)
      : answer_(std::move(answer)), piece_(piece), listener_(*Listen({.host = "127.0.0.1"})) {
    EXPECT_EQ(pipe(end_), 0);
    thread_ = std::thread([this] { Run(); });
  }
  ~Server() {
    End();
    close(end_[0]);
  }
  // After it, what it was asked can be read.
  void End() {
    if (!thread_.joinable()) return;
    close(end_[1]);
    thread_.join();
  }

  PmlibOptions Options() const {
    return {.server = *listener_.Local(), .device = "meter", .timeout_seconds = 20};
  }
  // What it was asked to create, as bytes after the operation.
  std::string created;
  std::vector<int32_t> operations;

 private:
  // Whether there is something to read before the end.
  bool Await(int descriptor) const {
    pollfd waited[] = {{.fd = descriptor, .events = POLLIN, .revents = 0},
                       {.fd = end_[0], .events = POLLIN, .revents = 0}};
    return poll(waited, 2, -1) > 0 && waited[0].revents != 0;
  }
  bool Read(int descriptor, char* bytes, size_t count) const {
    while (count > 0) {
      if (!Await(descriptor)) return false;
      const ssize_t received = recv(descriptor, bytes, count, 0);
      if (received <= 0) return false;
      bytes += received;
      count -= size_t(received);
    }
    return true;
  }
  void Run() {
    while (Await(listener_.descriptor())) {
      const absl::StatusOr<std::optional<Socket>> connection = Accept(listener_);
      if (connection.ok() && *connection) Serve((*connection)->descriptor());
    }
  }
  void Serve(int connection) {
    int32_t operation = 0;
    while (Read(connection, reinterpret_cast<char*>(&operation), sizeof(operation))) {
      operations.push_back(operation);
      if (operation == 0) {
        created.resize(4 + 5 + 4 + 4 + 4 + 16);  // of a device with five letters
        if (!Read(connection, created.data(), created.size())) return;
      }
      std::string answer = answer_(operation);
      if (answer.empty()) return;
      if (answer == "silence") {
        Await(-1);
        return;
      }
      for (size_t at = 0; at < answer.size(); at += piece_) {
        const std::string part = answer.substr(at, piece_);
        if (send(connection, part.data(), part.size(), MSG_NOSIGNAL) < 0) return;
      }
    }
  }

  const Answer answer_;
  const size_t piece_;
  const Socket listener_;
  int end_[2] = {-1, -1};
  std::thread thread_;
};

// Three samples of two lines, which belong to the second of two sets.
std::string Good(int32_t operation) {
  if (operation != 4) return Bytes(std::vector<int32_t>{0});
  return Bytes(std::vector<int32_t>{8, 2, 2, 0, 1}) +
         Bytes(std::vector<double>{99, 1, 2, 3, 99, 10, 20, 30});
}

TEST(PmlibTest, SamplesAreIntegrated) {
  EXPECT_EQ(EnergyOfSamples({}, 5), 0);
  EXPECT_EQ(EnergyOfSamples(std::vector<double>{3}, 5), 15);
  EXPECT_EQ(EnergyOfSamples(std::vector<double>{2, 4}, 5), 15);
  EXPECT_EQ(EnergyOfSamples(std::vector<double>{2, 4, 6, 0}, 3), 11);
}

TEST(PmlibTest, LinesAreAddedUpOverIntervals) {
  for (const size_t piece : {size_t{1} << 20, size_t{1}, size_t{3}}) {
    Server server(Good, piece);
    const Stopwatch watch;
    const auto source = OpenPmlib(server.Options());
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_EQ((*source)->Describe(), "meter");
    const absl::StatusOr<double> first = (*source)->Joules(), second = (*source)->Joules();
    ASSERT_TRUE(first.ok()) << first.status();
    ASSERT_TRUE(second.ok()) << second.status();
    // Lines of 2 W and 20 W, for as long as it took.
    EXPECT_GT(*first, 0);
    EXPECT_GT(*second, *first);
    EXPECT_LE(*second, 22 * watch.seconds());
  }
}

TEST(PmlibTest, SamplesAreKeptWhereAsked) {
  Server server(Good);
  PowerLog log;
  PmlibOptions options = server.Options();
  options.keep = &log;
  const auto source = OpenPmlib(options);
  ASSERT_TRUE(source.ok()) << source.status();
  const double joules = (*source)->Joules().value();
  EXPECT_EQ(log.lines(), 2);
  const std::string text = log.Text();
  EXPECT_THAT(text, StartsWith("Time;Watts;Line0;Line1\n0;11;1;10\n"));
  EXPECT_THAT(text, HasSubstr(";22;2;20\n"));
  // A second reading continues where the first one ended.
  EXPECT_GT((*source)->Joules().value(), joules);
  EXPECT_EQ(std::ranges::count(log.Text(), '\n'), 1 + 3 + 3);
}

TEST(PmlibTest, TheServerIsAskedInOrder) {
  Server server(Good);
  {
    const auto source = OpenPmlib(server.Options());
    ASSERT_TRUE(source.ok()) << source.status();
    ASSERT_TRUE((*source)->Joules().ok());
  }
  server.End();
  EXPECT_THAT(server.operations, ::testing::ElementsAre(0, 1, 3, 4, 5, 0, 1));
  EXPECT_EQ(server.created, Bytes(std::vector<int32_t>{5}) + "meter" +
                                Bytes(std::vector<int32_t>{0, 0, 16}) + "\xff\xff" +
                                std::string(14, '\0'));
}

TEST(PmlibTest, NamesAreResolved) {
  Server server(Good);
  PmlibOptions options = server.Options();
  options.server.host = "localhost";
  EXPECT_TRUE(OpenPmlib(options).ok());
}

TEST(PmlibTest, ServersThatDoNotAnswerAreErrors) {
  Server silent([](int32_t) { return "silence"; });
  PmlibOptions options = silent.Options();
  options.timeout_seconds = 0.05;
  const absl::Status late = OpenPmlib(options).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(late)) << late;
  EXPECT_THAT(std::string(late.message()),
              StartsWith("PMlib server " + options.server.ToString() + ": does not answer within"));
  Server closes([](int32_t operation) { return operation == 4 ? "" : Good(operation); });
  const auto source = OpenPmlib(closes.Options());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(std::string((*source)->Joules().status().message()),
              HasSubstr("has closed the connection"));
  EXPECT_FALSE(OpenPmlib({.server = {.host = "127.0.0.1", .port = 1}, .device = "x"}).ok());
}

TEST(PmlibTest, ServersThatRefuseAreErrors) {
  Server refuses([](int32_t) { return Bytes(std::vector<int32_t>{-7}); });
  const absl::Status status = OpenPmlib(refuses.Options()).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("refuses device \"meter\" (error -7)"));
}

TEST(PmlibTest, AnswersThatMakeNoSenseTakeNoMemory) {
  constexpr int32_t kMost = 0x7fffffff;
  for (const std::vector<int32_t>& head : {std::vector<int32_t>{kMost, 0, 1},
                                           {8, kMost, 1},
                                           {8, -1, 1},
                                           {8, 0, 0},
                                           {8, 0, -1},
                                           {8, 0, 3},
                                           {8, 0, kMost},
                                           {16777217, 0, 1},
                                           {8, 65537, 1},
                                           {129, 0, 129},
                                           {-1, 0, 1}}) {
    Server hostile(
        [&](int32_t operation) { return operation == 4 ? Bytes(head) : Good(operation); });
    const auto source = OpenPmlib(hostile.Options());
    ASSERT_TRUE(source.ok()) << source.status();
    const absl::Status status = (*source)->Joules().status();
    EXPECT_TRUE(absl::IsDataLoss(status) || absl::IsFailedPrecondition(status)) << status;
  }
  for (const double watts : {std::nan(""), 1.001e9, -1.001e9, HUGE_VAL}) {
    Server wild([&](int32_t operation) {
      return operation == 4
                 ? Bytes(std::vector<int32_t>{2, 1, 1, 0}) + Bytes(std::vector<double>{1, watts})
                 : Good(operation);
    });
    const auto source = OpenPmlib(wild.Options());
    ASSERT_TRUE(source.ok()) << source.status();
    EXPECT_THAT(std::string((*source)->Joules().status().message()),
                HasSubstr("sends a power of "));
  }
  Server set([&](int32_t operation) {
    return operation == 4
               ? Bytes(std::vector<int32_t>{2, 1, 1, 3}) + Bytes(std::vector<double>{1, 2})
               : Good(operation);
  });
  const auto source = OpenPmlib(set.Options());
  ASSERT_TRUE(source.ok()) << source.status();
  EXPECT_THAT(std::string((*source)->Joules().status().message()), HasSubstr("begins at sample 3"));
}

}  // namespace
}  // namespace dtnn
