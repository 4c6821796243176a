#include "comm/transport/grpc/envelope_queue.h"

#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace dtnn {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kMost = 100'000;

// A queue, and what it has begun to write.
struct Writer {
  void Push(const std::string& packet) {
    proto::Envelope envelope;
    envelope.set_packet(packet);
    queue.Push(std::move(envelope));
  }
  // Until nothing waits; how many there were.
  int WriteAll() {
    int count = 0;
    for (; !written.empty(); ++count) {
      written.erase(written.begin());
      queue.Written(true);
    }
    return count;
  }

  std::vector<std::string> written;
  int finished = 0;
  EnvelopeQueue queue{kMost,
                      [this](const proto::Envelope& next) { written.push_back(next.packet()); },
                      [this] { ++finished; }};
};

TEST(EnvelopeQueueTest, OneIsWrittenAtATimeInOrder) {
  Writer writer;
  writer.Push("a");
  writer.Push("b");
  EXPECT_THAT(writer.written, ElementsAre("a"));
  EXPECT_FALSE(writer.queue.AwaitEmpty({}));
  writer.queue.Written(true);
  EXPECT_THAT(writer.written, ElementsAre("a", "b"));
  writer.queue.Written(true);
  EXPECT_TRUE(writer.queue.AwaitEmpty({}));
  writer.queue.Finish();
  writer.Push("c");
  EXPECT_THAT(writer.written, ElementsAre("a", "b"));
  EXPECT_EQ(writer.finished, 1);
}

// Long ones count with their bytes, short ones with what they cost all the same.
TEST(EnvelopeQueueTest, ASlowReaderKeepsNoMoreThanTheBoundInMemory) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{9000}}) {
    Writer writer;
    for (int i = 0; i < 1000; ++i) writer.Push(std::string(bytes, 'x'));
    const int waited = writer.WriteAll();
    EXPECT_EQ(waited, int(kMost / (1024 + bytes))) << bytes;
    // There is room again, for as many.
    for (int i = 0; i < 1000; ++i) writer.Push(std::string(bytes, 'x'));
    EXPECT_EQ(writer.WriteAll(), waited) << bytes;
  }
}

TEST(EnvelopeQueueTest, ABrokenStreamHoldsNothing) {
  Writer writer;
  for (int i = 0; i < 1000; ++i) writer.Push("x");
  writer.queue.Written(false);
  EXPECT_TRUE(writer.queue.AwaitEmpty({}));
  writer.written.clear();
  writer.Push(std::string(kMost - 1024, 'y'));
  EXPECT_EQ(writer.WriteAll(), 1) << "all of its room is free";
}

TEST(EnvelopeQueueTest, TheEndComesAfterWhatWaitsWhereThatIsAsked) {
  for (const bool after : {false, true}) {
    Writer writer;
    writer.Push("a");
    writer.Push("b");
    writer.queue.Finish(after);
    EXPECT_EQ(writer.finished, 0);
    EXPECT_EQ(writer.WriteAll(), after ? 2 : 1);
    EXPECT_EQ(writer.finished, 1);
    EXPECT_THAT(writer.written, IsEmpty());
  }
}

}  // namespace
}  // namespace dtnn
