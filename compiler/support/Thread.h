//===- Thread.h - A thread that may not start -----------------------------===//
//
// A process has no more threads than its limits and its memory allow.
// std::thread ends the program there.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_THREAD_H
#define FRIT_COMPILER_SUPPORT_THREAD_H

#include <functional>
#include <memory>
#include <pthread.h>
#include <utility>

namespace frit {

/// Runs `work` on a thread of its own, if the system has one. The destructor
/// waits for it.
class Thread {
public:
  Thread() = default;
  explicit Thread(std::function<void()> work)
      : work(std::make_unique<std::function<void()>>(std::move(work))) {
    if (pthread_create(&thread, nullptr, main, this->work.get()))
      this->work.reset();
  }
  Thread(Thread &&) = default;
  Thread &operator=(Thread &&other) {
    join();
    thread = other.thread;
    work = std::move(other.work);
    return *this;
  }
  ~Thread() { join(); }

  /// Returns whether the thread has started and was not joined.
  bool runs() const { return work != nullptr; }
  /// Waits for the thread to end, if it runs.
  void join() {
    if (work)
      pthread_join(thread, nullptr);
    work.reset();
  }

private:
  static void *main(void *work) {
    (*static_cast<std::function<void()> *>(work))();
    return nullptr;
  }

  pthread_t thread = {};
  std::unique_ptr<std::function<void()>> work; ///< stays where the thread is
};

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_THREAD_H
