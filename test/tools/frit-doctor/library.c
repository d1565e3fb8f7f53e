/* Stands for a library of NVIDIA's: cc -shared -DNVRTC=13 -DMINOR=1, or
 * -DCUBLAS=130100, -DCUDNN=91002 -DCUDA=13000, -DNCCL=22703. Has the functions
 * that frit looks for and says its version; no call works. */
#include <stddef.h>
/* Ends with a declaration, so that a semicolon may follow. */
#define F(name)                                                                \
  int name(void) { return 1; }                                                 \
  int name(void)

#ifdef NVRTC
int nvrtcVersion(int *major, int *minor) {
  *major = NVRTC;
  *minor = MINOR;
  return 0;
}
int nvrtcGetNumSupportedArchs(int *count) {
  *count = 2;
  return 0;
}
int nvrtcGetSupportedArchs(int *archs) {
  archs[0] = 75;
  archs[1] = 90;
  return 0;
}
#endif

#ifdef CUBLAS
size_t cublasLtGetVersion(void) { return CUBLAS; }
F(cublasLtCreate);
F(cublasLtDestroy);
F(cublasLtMatmulDescCreate);
F(cublasLtMatmulDescDestroy);
F(cublasLtMatmulDescSetAttribute);
F(cublasLtMatrixLayoutCreate);
F(cublasLtMatrixLayoutDestroy);
F(cublasLtMatrixLayoutSetAttribute);
F(cublasLtMatmulPreferenceCreate);
F(cublasLtMatmulPreferenceDestroy);
F(cublasLtMatmulPreferenceSetAttribute);
F(cublasLtMatmulAlgoGetHeuristic);
F(cublasLtMatmulAlgoConfigGetAttribute);
F(cublasLtMatmul);
#endif

#ifdef CUDNN
size_t cudnnGetVersion(void) { return CUDNN; }
size_t cudnnGetCudartVersion(void) { return CUDA; }
F(cudnnCreate);
F(cudnnDestroy);
F(cudnnSetStream);
F(cudnnCreateTensorDescriptor);
F(cudnnDestroyTensorDescriptor);
F(cudnnSetTensor4dDescriptor);
F(cudnnCreateFilterDescriptor);
F(cudnnDestroyFilterDescriptor);
F(cudnnSetFilter4dDescriptor);
F(cudnnCreateConvolutionDescriptor);
F(cudnnDestroyConvolutionDescriptor);
F(cudnnSetConvolution2dDescriptor);
F(cudnnSetConvolutionGroupCount);
F(cudnnSetConvolutionMathType);
F(cudnnCreateActivationDescriptor);
F(cudnnDestroyActivationDescriptor);
F(cudnnSetActivationDescriptor);
F(cudnnGetConvolutionForwardAlgorithm_v7);
F(cudnnGetConvolutionForwardWorkspaceSize);
F(cudnnConvolutionForward);
F(cudnnConvolutionBiasActivationForward);
F(cudnnBackendCreateDescriptor);
F(cudnnBackendDestroyDescriptor);
F(cudnnBackendSetAttribute);
F(cudnnBackendGetAttribute);
F(cudnnBackendFinalize);
F(cudnnBackendExecute);
#endif

#ifdef NCCL
int ncclGetVersion(int *version) {
  *version = NCCL;
  return 0;
}
F(ncclGetUniqueId);
F(ncclCommInitRank);
F(ncclAllReduce);
F(ncclReduceScatter);
F(ncclAllGather);
F(ncclReduce);
F(ncclBroadcast);
F(ncclGroupStart);
F(ncclGroupEnd);
F(ncclCommDestroy);
F(ncclGetErrorString);
F(ncclGetLastError);
#endif

F(fake);
