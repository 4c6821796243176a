// A party between a client and a server that hands all bytes on, and remembers them.

#ifndef DTNN_APPS_TESTING_RECORDING_RELAY_H_
#define DTNN_APPS_TESTING_RECORDING_RELAY_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "comm/transport/tcp/socket.h"

namespace dtnn::testing {

class RecordingRelay {
 public:
  // To a server at this address of this host, perhaps one that begins to listen later: until then
  // connections end at once.
  explicit RecordingRelay(const std::string& server);
  ~RecordingRelay();
  RecordingRelay(const RecordingRelay&) = delete;
  RecordingRelay& operator=(const RecordingRelay&) = delete;

  // Where clients connect to: HOST:PORT.
  const std::string& address() const { return address_; }

  // All that clients, and the server, have sent; stops first. Over all connections, the bytes of
  // each together.
  std::string ToServer();
  std::string ToClients();

 private:
  struct Connection;

  void Run();
  void Stop();

  const Endpoint server_;
  Socket listener_;
  std::string address_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace dtnn::testing

#endif  // DTNN_APPS_TESTING_RECORDING_RELAY_H_
