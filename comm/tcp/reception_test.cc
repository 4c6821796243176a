#include "comm/tcp/reception.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "comm/tcp/plain_stream.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tensor/must.h"

namespace dtnn {
namespace {

using ::testing::MatchesRegex;

constexpr size_t kPlaces = 128, kPerTurn = 8;

// Says of each attempt to read which connection it is of.
class WatchedStream : public Stream {
 public:
  WatchedStream(Socket socket, std::function<void(int)> heard)
      : stream_(PlainStream(std::move(socket))), heard_(std::move(heard)) {}

  absl::StatusOr<size_t> Read(std::span<std::byte> into) override {
    heard_(descriptor());
    return stream_->Read(into);
  }
  absl::StatusOr<size_t> Write(std::span<const std::span<const std::byte>> from) override {
    return stream_->Write(from);
  }
  void CloseWriting() override { stream_->CloseWriting(); }
  int descriptor() const override { return stream_->descriptor(); }

 private:
  const std::unique_ptr<Stream> stream_;
  const std::function<void(int)> heard_;
};

class ReceptionTest : public ::testing::Test {
 protected:
  ReceptionTest() {
    Socket listener = Must(Listen({"127.0.0.1", 0}));
    address_ = Must(listener.Local());
    const StreamMaker maker = [this](Socket socket, const std::string&) -> std::unique_ptr<Stream> {
      return std::make_unique<WatchedStream>(std::move(socket),
                                             [this](int descriptor) { heard_.insert(descriptor); });
    };
    reception_ = std::make_unique<Reception>(Must(JobSecret::Of(std::string(40, 'a'))), 0, 2, maker,
                                             std::move(listener), std::set<int>{1});
  }

  // From that address of this host.
  Socket Connect(const char* from = "127.0.0.1") const {
    Socket caller(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    inet_pton(AF_INET, from, &address.sin_addr);
    EXPECT_EQ(bind(caller.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    address.sin_port = htons(address_.port);
    EXPECT_EQ(connect(caller.descriptor(), reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
    return caller;
  }

  // What poll reports now, then one turn. Returns how many places are taken after it.
  size_t Turn() {
    std::vector<pollfd> descriptors;
    reception_->AddTo(descriptors);
    poll(descriptors.data(), descriptors.size(), 0);
    EXPECT_TRUE(reception_->Advance(descriptors).ok());
    descriptors.clear();
    reception_->AddTo(descriptors);
    return descriptors.size() - 1;
  }
  void FillAllPlaces() {
    while (strangers_.size() < kPlaces) strangers_.push_back(Connect());
    while (Turn() < kPlaces) {
    }
    heard_.clear();
  }
  static bool IsClosed(const Socket& socket) {
    char byte = 0;
    return recv(socket.descriptor(), &byte, 1, MSG_DONTWAIT) == 0 || errno == ECONNRESET;
  }

  Endpoint address_;
  std::set<int> heard_;  // descriptors
  std::unique_ptr<Reception> reception_;
  std::vector<Socket> strangers_;
};

TEST_F(ReceptionTest, WhoIsSilentCostsNothing) {
  FillAllPlaces();
  for (int turn = 0; turn < 10; ++turn) Turn();
  EXPECT_EQ(heard_.size(), 0u);
  ASSERT_EQ(send(strangers_[77].descriptor(), "D", 1, MSG_NOSIGNAL), 1);
  while (heard_.empty()) Turn();
  EXPECT_EQ(heard_.size(), 1u);
}

TEST_F(ReceptionTest, ATurnHearsAFewAndAllHaveTheirTurn) {
  FillAllPlaces();
  for (const Socket& stranger : strangers_) {
    ASSERT_EQ(send(stranger.descriptor(), "D", 1, MSG_NOSIGNAL), 1);
  }
  std::set<int> all;
  while (all.size() < kPlaces) {
    heard_.clear();
    Turn();
    EXPECT_LE(heard_.size(), kPerTurn);
    all.insert(heard_.begin(), heard_.end());
    // Who was heard says more at once.
    for (const Socket& stranger : strangers_) {
      (void)!send(stranger.descriptor(), "D", 1, MSG_NOSIGNAL);
    }
  }
}

TEST_F(ReceptionTest, TellsWhatHappenedToAConnectionAndWhatIsWrongWithACaller) {
  {
    const Socket gone = Connect();
    while (Turn() < 1) {
    }
  }
  while (reception_->refused().empty()) Turn();
  EXPECT_THAT(reception_->refused(),
              MatchesRegex("127\\.0\\.0\\.1:[0-9]+: closed by the other side"));
  const std::string before = reception_->refused();
  const Socket wrong = Connect();
  const std::string text(200, 'G');
  ASSERT_EQ(send(wrong.descriptor(), text.data(), text.size(), MSG_NOSIGNAL), ssize_t(text.size()));
  while (reception_->refused() == before) Turn();
  EXPECT_THAT(reception_->refused(), MatchesRegex("127\\.0\\.0\\.1:[0-9]+, which .*"));
}

TEST_F(ReceptionTest, ManyOfOneAddressDoNotPushOutAnother) {
  const Socket first = Connect("127.0.0.2");
  while (Turn() < 1) {
  }
  for (size_t i = 0; i < kPlaces + 20; ++i) {
    strangers_.push_back(Connect());
    Turn();
  }
  while (!IsClosed(strangers_[20])) Turn();
  EXPECT_FALSE(IsClosed(strangers_[21])) << "the oldest make room";
  EXPECT_FALSE(IsClosed(first));
  EXPECT_EQ(Turn(), kPlaces);
}

}  // namespace
}  // namespace dtnn
